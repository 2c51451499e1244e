// SPDX-License-Identifier: Apache-2.0
// Mounts, roots and namespaces.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "probe.h"

namespace probe {
namespace {

bool Mount(const char* from, const char* to, const char* kind, unsigned long flags,
           const char* data = nullptr) {
  return mount(from, to, kind, flags, data) == 0;
}
bool Remount(const char* path) { return Mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND); }
bool Umount(const char* path) { return umount2(path, MNT_DETACH) == 0; }
bool Unshare(int what) { return unshare(what) == 0; }

// A canary's path is one of the machine's: it is nowhere in the container.
bool Opens(const std::string& path) { return open(path.c_str(), O_RDONLY) >= 0; }

// The old trick: a root below the one that we hold a descriptor outside of.
bool ChrootOut() {
  mkdir("/tmp/cell", 0755);
  const int outside = open("/", O_RDONLY | O_DIRECTORY);
  if (chroot("/tmp/cell") != 0) return false;
  if (fchdir(outside) != 0) return false;
  for (int i = 0; i < 64; ++i) {
    if (chdir("..") != 0) return false;
  }
  if (chroot(".") != 0) return false;
  return Opens(Canary());
}

bool CloneUser() {
  const long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid > 0;
}

bool Clone3User() {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  const long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid == 0) _exit(0);
  return pid > 0;
}

bool SetOwn(const char* kind, int flag) {
  const int fd = open((std::string("/proc/self/ns/") + kind).c_str(), O_RDONLY);
  return fd >= 0 && setns(fd, flag) == 0;
}

bool SetByPidfd() {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, 1, 0));
  return fd >= 0 && setns(fd, CLONE_NEWNS | CLONE_NEWPID) == 0;
}

// The root folder of a file system has inode 2 on ext, and 128 on xfs.
bool OpenByHandle() {
  struct {
    file_handle head;
    unsigned ids[2];
  } handle{};
  handle.head.handle_bytes = sizeof(handle.ids);
  handle.head.handle_type = 1;
  handle.ids[0] = 2;
  const int at = open("/.tidemill/scratch", O_RDONLY | O_DIRECTORY);
  return open_by_handle_at(at, &handle.head, O_RDONLY) >= 0;
}

bool MountDisk() {
  struct stat status{};
  stat("/.tidemill/scratch", &status);
  const std::string disk = "/dev/block/" + std::to_string(major(status.st_dev)) + ":" +
                           std::to_string(minor(status.st_dev));
  return Mount(disk.c_str(), "/tmp", "ext4", 0) || Mount("/dev/vda", "/tmp", "ext4", 0);
}

long OpenTree(const char* path) {
  constexpr unsigned kClone = 1;  // OPEN_TREE_CLONE
  return syscall(SYS_open_tree, AT_FDCWD, path, kClone);
}

constexpr Attempt kAttempts[] = {
    {"mount a tmpfs", [] { return Mount("none", "/tmp", "tmpfs", 0); }},
    {"mount proc", [] { return Mount("none", "/tmp", "proc", 0); }},
    {"mount sysfs", [] { return Mount("none", "/tmp", "sysfs", 0); }},
    {"mount the devices", [] { return Mount("none", "/tmp", "devtmpfs", 0); }},
    {"mount a cgroup hierarchy", [] { return Mount("x", "/tmp", "cgroup", 0, "memory"); }},
    {"mount cgroups of version 2", [] { return Mount("x", "/tmp", "cgroup2", 0); }},
    {"mount debugfs", [] { return Mount("x", "/tmp", "debugfs", 0); }},
    {"mount an overlay", [] { return Mount("x", "/tmp", "overlay", 0, "lowerdir=/etc:/bin"); }},
    {"mount the machine's disk", MountDisk},
    {"bind the root", [] { return Mount("/", "/tmp", nullptr, MS_BIND | MS_REC); }},
    {"make mounts shared", [] { return Mount(nullptr, "/", nullptr, MS_REC | MS_SHARED); }},
    {"move a mount", [] { return Mount("/proc", "/tmp", nullptr, MS_MOVE); }},
    {"remount the root", [] { return Remount("/"); }},
    {"remount init's file for writing", [] { return Remount("/.tidemill/init"); }},
    {"remount the socket's folder for writing", [] { return Remount("/.tidemill/run"); }},
    {"remount /proc/sys for writing", [] { return Remount("/proc/sys"); }},
    {"remount /sys for writing", [] { return Remount("/sys"); }},
    {"unmount /proc/sys", [] { return Umount("/proc/sys"); }},
    {"unmount what hides /proc/kcore", [] { return Umount("/proc/kcore"); }},
    {"unmount init's file", [] { return Umount("/.tidemill/init"); }},
    {"pivot_root", [] { return syscall(SYS_pivot_root, "/tmp", "/tmp") == 0; }},
    {"fsopen", [] { return syscall(SYS_fsopen, "tmpfs", 0) >= 0; }},
    {"open_tree", [] { return OpenTree("/") >= 0; }},
    {"move_mount", [] { return syscall(SYS_move_mount, -100, "/", -100, "/tmp", 0) == 0; }},
    {"fspick", [] { return syscall(SYS_fspick, AT_FDCWD, "/", 0) >= 0; }},
    {"mount_setattr",
     [] {
       std::uint64_t attributes[4] = {0, 1, 0, 0};  // no longer read-only
       return syscall(SYS_mount_setattr, AT_FDCWD, "/.tidemill/init", 0, attributes,
                      sizeof(attributes)) == 0;
     }},
    {"chroot out", ChrootOut},
    {"a file of the machine by its path", [] { return Opens(Canary()); }},
    {"the same by init's root", [] { return Opens(std::string("/proc/1/root") + Canary()); }},
    {"the same by our root", [] { return Opens(std::string("/proc/self/root/../..") + Canary()); }},
    {"the same by init's folder", [] { return Opens(std::string("/proc/1/cwd/..") + Canary()); }},
    {"the same from the scratch folder up",
     [] { return Opens(std::string("/.tidemill/scratch/../../../..") + Canary()); }},
    {"open_by_handle_at", OpenByHandle},
    {"unshare mounts", [] { return Unshare(CLONE_NEWNS); }},
    {"unshare users", [] { return Unshare(CLONE_NEWUSER); }},
    {"unshare processes", [] { return Unshare(CLONE_NEWPID); }},
    {"unshare the network", [] { return Unshare(CLONE_NEWNET); }},
    {"unshare IPC", [] { return Unshare(CLONE_NEWIPC); }},
    {"unshare the host name", [] { return Unshare(CLONE_NEWUTS); }},
    {"unshare cgroups", [] { return Unshare(CLONE_NEWCGROUP); }},
    {"unshare the clock", [] { return Unshare(CLONE_NEWTIME); }},
    {"clone with a user namespace", CloneUser},
    {"clone3 with a user namespace", Clone3User},
    {"setns to a mount namespace", [] { return SetOwn("mnt", CLONE_NEWNS); }},
    {"setns to a network namespace", [] { return SetOwn("net", CLONE_NEWNET); }},
    {"setns to a user namespace", [] { return SetOwn("user", CLONE_NEWUSER); }},
    {"setns by a pidfd", SetByPidfd},
    {"init's mount namespace", [] { return Opens("/proc/1/ns/mnt"); }},
};

}  // namespace

std::span<const Attempt> MountAttempts() { return kAttempts; }

}  // namespace probe
