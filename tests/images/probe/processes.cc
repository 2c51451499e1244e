// SPDX-License-Identifier: Apache-2.0
// Other processes: init, and those of the machine.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "probe.h"

namespace probe {
namespace {

bool Opens(const std::string& path, int flags) { return open(path.c_str(), flags) >= 0; }
bool OfMachine(const char* name, int flags) {
  return Opens("/proc/" + std::to_string(MachinePid()) + "/" + name, flags);
}

bool MoveMemory(long number, pid_t pid) {
  char bytes[8] = {};
  const iovec ours{bytes, sizeof(bytes)};
  const iovec theirs{reinterpret_cast<void*>(0x400000), sizeof(bytes)};
  return syscall(number, pid, &ours, 1, &theirs, 1, 0) > 0;
}

// Signals from inside do not reach the first process, though the call succeeds: we go on only if it
// does.
bool SignalInit(int signal) {
  if (kill(1, signal) != 0) return false;
  usleep(200'000);
  char state = 0;
  const int fd = open("/proc/1/stat", O_RDONLY);
  char text[512] = {};
  if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) return true;
  const char* end = strrchr(text, ')');
  state = end == nullptr ? 'X' : end[2];
  errno = EPERM;
  return state == 'T' || state == 'Z' || state == 'X';
}

bool TakeDescriptor() {
  const int init = static_cast<int>(syscall(SYS_pidfd_open, 1, 0));
  for (int fd = 0; init >= 0 && fd < 16; ++fd) {
    if (syscall(SYS_pidfd_getfd, init, fd, 0) >= 0) return true;
  }
  return false;
}

bool OpenDescriptor() {
  for (int fd = 0; fd < 16; ++fd) {
    if (Opens("/proc/1/fd/" + std::to_string(fd), O_RDONLY | O_NONBLOCK)) return true;
  }
  return false;
}

bool GainCapability() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &head, data) != 0) return false;
  for (auto& each : data) each.effective = each.permitted = each.inheritable = 0xffffffff;
  return syscall(SYS_capset, &head, data) == 0;
}

// A copy of this program, which belongs to root, has the setuid bit.
bool RunSetuid() {
  if (geteuid() == 0) {
    errno = EPERM;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    execl("/setuid-probe", "probe", "root", nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = EPERM;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool RaiseLimit(__rlimit_resource what) {
  rlimit limit{};
  getrlimit(what, &limit);
  limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
  return setrlimit(what, &limit) == 0;
}

bool RealTime() {
  sched_param param{};
  param.sched_priority = 1;
  return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}

// Speaks to the agent as if it were init.
bool PlayInit() {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  strcpy(at.sun_path, "/.tidemill/run/agent.sock");
  if (connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0) return false;
  const char hello[] = "\x10\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0";
  if (send(fd, hello, 20, MSG_NOSIGNAL) < 0) return false;
  char byte = 0;
  return recv(fd, &byte, 1, 0) > 0;
}

bool ConnectAbstract() {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::size_t size = strlen(AbstractName());
  memcpy(at.sun_path + 1, AbstractName(), size);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return connect(fd, reinterpret_cast<const sockaddr*>(&at), length) == 0;
}

constexpr Attempt kAttempts[] = {
    {"trace init", [] { return ptrace(PTRACE_ATTACH, 1, 0, 0) == 0; }},
    {"seize init", [] { return ptrace(PTRACE_SEIZE, 1, 0, 0) == 0; }},
    {"read init's memory", [] { return MoveMemory(SYS_process_vm_readv, 1); }},
    {"write init's memory", [] { return MoveMemory(SYS_process_vm_writev, 1); }},
    {"open init's memory", [] { return Opens("/proc/1/mem", O_RDWR); }},
    {"see init's environment",
     [] {
       char byte = 0;
       const int fd = open("/proc/1/environ", O_RDONLY);
       return fd >= 0 && read(fd, &byte, 1) > 0;
     }},
    {"open a descriptor of init", OpenDescriptor},
    {"see init's memory map", [] { return Opens("/proc/1/maps", O_RDONLY); }},
    {"take a descriptor of init", TakeDescriptor},
    {"write to init's program by /proc", [] { return Opens("/proc/1/exe", O_WRONLY); }},
    {"write to our own program by /proc", [] { return Opens("/proc/self/exe", O_WRONLY); }},
    {"kill init", [] { return SignalInit(SIGKILL); }},
    {"stop init", [] { return SignalInit(SIGSTOP); }},
    {"abort init", [] { return SignalInit(SIGABRT); }},
    {"compare with init", [] { return syscall(SYS_kcmp, getpid(), 1, 0, 0, 0) >= 0; }},
    {"play init", PlayInit},
    {"signal a process of the machine", [] { return kill(MachinePid(), 0) == 0; }},
    {"trace a process of the machine",
     [] { return ptrace(PTRACE_SEIZE, MachinePid(), 0, 0) == 0; }},
    {"a process of the machine by a pidfd",
     [] { return syscall(SYS_pidfd_open, MachinePid(), 0) >= 0; }},
    {"the memory of a process of the machine", [] { return OfMachine("mem", O_RDWR); }},
    {"the root of a process of the machine", [] { return OfMachine("root/etc", O_RDONLY); }},
    {"shared memory of the machine", [] { return shmget(MachineShm(), 0, 0) >= 0; }},
    {"a socket of the machine without a path", ConnectAbstract},
    {"gain capabilities", GainCapability},
    {"raise an ambient capability",
     [] { return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) == 0; }},
    {"be without no_new_privs",
     [] {
       if (prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) return true;
       return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
     }},
    {"be without seccomp", [] { return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0; }},
    {"a program with the setuid bit", RunSetuid},
    {"more files than the limit", [] { return RaiseLimit(RLIMIT_NOFILE); }},
    {"a core dump", [] { return RaiseLimit(RLIMIT_CORE); }},
    {"real-time priority", RealTime},
    {"a better priority", [] { return setpriority(PRIO_PROCESS, 0, -20) == 0; }},
};

}  // namespace

std::span<const Attempt> ProcessAttempts() { return kAttempts; }

}  // namespace probe
