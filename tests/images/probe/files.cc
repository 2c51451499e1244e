// SPDX-License-Identifier: Apache-2.0
// Files of the kernel, of the agent and of the Engine.
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "probe.h"

namespace probe {
namespace {

bool Writes(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY);
  return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

// What is hidden behind /dev/null reads as nothing.
bool Reads(const char* path) {
  char byte = 0;
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  return fd >= 0 && read(fd, &byte, 1) > 0;
}

bool Lists(const char* path) {
  DIR* const folder = opendir(path);
  if (folder == nullptr) return false;
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    if (entry->d_name[0] != '.') return true;
  }
  return false;
}

// Of any hierarchy, of the container's own group.
bool WritesCgroup(const char* file, const char* text) {
  for (const char* name : {"", "memory/", "pids/", "devices/", "cpu/", "systemd/", "freezer/"}) {
    if (Writes((std::string("/sys/fs/cgroup/") + name + file).c_str(), text)) return true;
  }
  return false;
}

// With cgroups of version 1, the folder above the hierarchies is one of the container's own.
bool MakesCgroup() {
  for (const char* name : {"", "memory/", "pids/", "devices/", "systemd/"}) {
    const std::string path = std::string("/sys/fs/cgroup/") + name + "mine";
    const bool made = mkdir(path.c_str(), 0755) == 0;
    if (made && access((path + "/cgroup.procs").c_str(), F_OK) == 0) return true;
  }
  return false;
}

bool Makes(const char* path) { return open(path, O_CREAT | O_WRONLY, 0600) >= 0; }

bool Connects(const char* path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(at.sun_path)) return false;
  strcpy(at.sun_path, path);
  return connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0;
}

constexpr char kInit[] = "/.tidemill/init";
constexpr char kRun[] = "/.tidemill/run";
constexpr char kSocket[] = "/.tidemill/run/agent.sock";
constexpr char kScratch[] = "/.tidemill/scratch";

constexpr Attempt kAttempts[] = {
    {"sysrq", [] { return Writes("/proc/sysrq-trigger", "h"); }},
    {"core_pattern", [] { return Writes("/proc/sys/kernel/core_pattern", "|/tmp/x"); }},
    {"the host name by /proc", [] { return Writes("/proc/sys/kernel/hostname", "x"); }},
    {"the module loader", [] { return Writes("/proc/sys/kernel/modprobe", "/tmp/x"); }},
    {"kernel.panic", [] { return Writes("/proc/sys/kernel/panic", "1"); }},
    {"drop_caches", [] { return Writes("/proc/sys/vm/drop_caches", "1"); }},
    {"overcommit_memory", [] { return Writes("/proc/sys/vm/overcommit_memory", "1"); }},
    {"ip_forward", [] { return Writes("/proc/sys/net/ipv4/ip_forward", "1"); }},
    {"ping_group_range", [] { return Writes("/proc/sys/net/ipv4/ping_group_range", "0 1"); }},
    {"binfmt_misc", [] { return Writes("/proc/sys/fs/binfmt_misc/register", ":x:M::x::/tmp/x:"); }},
    {"user.max_user_namespaces", [] { return Writes("/proc/sys/user/max_user_namespaces", "1"); }},
    {"an interrupt's processors", [] { return Writes("/proc/irq/0/smp_affinity", "1"); }},
    {"memory by /proc/kcore", [] { return Reads("/proc/kcore"); }},
    {"/proc/keys", [] { return Reads("/proc/keys"); }},
    {"/proc/timer_list", [] { return Reads("/proc/timer_list"); }},
    {"/proc/sched_debug", [] { return Reads("/proc/sched_debug"); }},
    {"/proc/latency_stats", [] { return Reads("/proc/latency_stats"); }},
    {"/proc/kmsg", [] { return Reads("/proc/kmsg"); }},
    {"/proc/kpageflags", [] { return Reads("/proc/kpageflags"); }},
    {"/sys/firmware", [] { return Lists("/sys/firmware"); }},
    {"/proc/acpi", [] { return Lists("/proc/acpi"); }},
    {"/proc/scsi", [] { return Lists("/proc/scsi"); }},
    {"be killed last", [] { return Writes("/proc/self/oom_score_adj", "-1000"); }},
    {"be killed after the agent", [] { return Writes("/proc/self/oom_score_adj", "-1"); }},
    {"init be killed last", [] { return Writes("/proc/1/oom_score_adj", "-1000"); }},
    {"uevent_helper", [] { return Writes("/sys/kernel/uevent_helper", "/tmp/x"); }},
    {"the power state", [] { return Writes("/sys/power/state", "mem"); }},
    {"huge pages", [] { return Writes("/sys/kernel/mm/transparent_hugepage/enabled", "never"); }},
    {"a module's parameter", [] { return Writes("/sys/module/kernel/parameters/panic", "1"); }},
    {"a processor off", [] { return Writes("/sys/devices/system/cpu/cpu1/online", "0"); }},
    {"release_agent", [] { return WritesCgroup("release_agent", "/tmp/x"); }},
    {"notify_on_release", [] { return WritesCgroup("notify_on_release", "1"); }},
    {"our memory limit", [] { return WritesCgroup("memory.limit_in_bytes", "-1"); }},
    {"our memory limit of version 2", [] { return WritesCgroup("memory.max", "max"); }},
    {"our limit of processes", [] { return WritesCgroup("pids.max", "max"); }},
    {"devices that we may open", [] { return WritesCgroup("devices.allow", "a"); }},
    {"another cgroup", [] { return WritesCgroup("../cgroup.procs", "0"); }},
    {"a cgroup of our own", MakesCgroup},
    {"overwrite init", [] { return open(kInit, O_WRONLY) >= 0; }},
    {"cut init", [] { return truncate(kInit, 0) == 0; }},
    {"remove init", [] { return unlink(kInit) == 0; }},
    {"put something in init's place", [] { return rename("/bin/busybox", kInit) == 0; }},
    {"make init another's", [] { return chown(kInit, 1234, 1234) == 0; }},
    {"change init's mode", [] { return chmod(kInit, 04777) == 0; }},
    {"link to init", [] { return link(kInit, "/.tidemill/scratch/init") == 0; }},
    {"a file beside the socket", [] { return Makes("/.tidemill/run/x"); }},
    {"remove the socket", [] { return unlink(kSocket) == 0; }},
    {"a link in the socket's place", [] { return symlink("/etc/passwd", kSocket) == 0; }},
    {"rename the socket's folder", [] { return rename(kRun, "/.tidemill/other") == 0; }},
    {"change the socket folder's mode", [] { return chmod(kRun, 0777) == 0; }},
    {"rename the scratch folder", [] { return rename(kScratch, "/.tidemill/other") == 0; }},
    {"remove the scratch folder", [] { return rmdir(kScratch) == 0; }},
    {"the folder above the scratch folder", [] { return Makes("/.tidemill/scratch/../../run/x"); }},
    {"the Engine's socket", [] { return Connects("/var/run/docker.sock"); }},
    {"the Engine's socket in /run", [] { return Connects("/run/docker.sock"); }},
    {"the Engine's socket by its path", [] { return Connects(DockerSocket()); }},
    {"containerd's socket", [] { return Connects("/run/containerd/containerd.sock"); }},
};

}  // namespace

std::span<const Attempt> FileAttempts() { return kAttempts; }

}  // namespace probe
