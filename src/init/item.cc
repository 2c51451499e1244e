// SPDX-License-Identifier: Apache-2.0
#include "init/item.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "init/role.h"

namespace tidemill::init {
namespace {

constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

// What execve is given. Everything is made before the fork: the child shares our memory.
struct Program {
  std::string_view name;
  std::string_view path;
  std::vector<char*> argv;
  std::vector<char*> env;
};

bool Names(const std::vector<std::string_view>& variables, std::string_view name) {
  for (const std::string_view variable : variables) {
    if (NameOf(variable) == name) return true;
  }
  return false;
}

// execve takes strings that it does not change as if it could.
char* Text(std::string_view ends_with_nul) { return const_cast<char*>(ends_with_nul.data()); }

Program ProgramOf(const frame::Run& run, bool has_role) {
  Program program;
  program.name = run.argv[0];
  program.path = kDefaultPath;
  program.argv.reserve(run.argv.size() + 1);
  for (const std::string_view argument : run.argv) program.argv.push_back(Text(argument));
  program.argv.push_back(nullptr);
  for (const std::string_view variable : run.env) program.env.push_back(Text(variable));
  for (char** own = environ; *own != nullptr; ++own) {
    const std::string_view name = NameOf(*own);
    if (Names(run.env, name) || (has_role && NamesOtherKeys(name))) continue;
    program.env.push_back(*own);
  }
  program.env.push_back(nullptr);
  for (std::size_t i = 0; i + 1 < program.env.size(); ++i) {
    const std::string_view variable = program.env[i];
    if (!variable.starts_with("PATH=")) continue;
    program.path = variable.substr(5);
    break;
  }
  return program;
}

// Returns only if it fails, with errno.
int Execute(const Program& program, const char* file) {
  execve(file, program.argv.data(), program.env.data());
  return errno;
}

// Whether another folder of the PATH may still have the program.
bool MayBeElsewhere(int error) {
  return error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE ||
         error == ENODEV || error == ETIMEDOUT;
}

int ExecuteFromPath(const Program& program) {
  char file[PATH_MAX];
  bool denied = false;
  std::string_view rest = program.path;
  for (bool more = true; more;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
    if (folder.size() + 1 + program.name.size() + 1 > sizeof(file)) continue;
    char* end = file;
    if (!folder.empty()) {  // an empty one is the working folder
      memcpy(end, folder.data(), folder.size());
      end += folder.size();
      *end++ = '/';
    }
    memcpy(end, program.name.data(), program.name.size());
    end[program.name.size()] = '\0';
    const int error = Execute(program, file);
    if (!MayBeElsewhere(error)) return error;
    if (error == EACCES) denied = true;
  }
  return denied ? EACCES : ENOENT;
}

// Runs in the child, in the memory of the parent, so it may change nothing but `error`.
[[noreturn]] void Become(const Program& program, const Stdio& stdio, volatile int* error) {
  setsid();
  if (stdio.terminal) ioctl(stdio.in, TIOCSCTTY, 0);
  // As a plain process init can be killed alone; what it started must not outlive it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (stdio.in >= 0) dup2(stdio.in, STDIN_FILENO);
  dup2(stdio.out, STDOUT_FILENO);
  dup2(stdio.err, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (program.name.empty()) {
    *error = ENOENT;
  } else if (program.name.find('/') != std::string_view::npos) {
    *error = Execute(program, program.argv[0]);
  } else {
    *error = ExecuteFromPath(program);
  }
  _exit(127);
}

// vfork, because the parent has nothing to do before execve and no pages are copied.
pid_t Fork(const Program& program, const Stdio& stdio, volatile int* error) {
  const pid_t pid = vfork();
  if (pid == 0) Become(program, stdio, error);
  return pid;
}

}  // namespace

Started StartOn(const Stdio& stdio, const frame::Run& run, bool has_role) {
  const Program program = ProgramOf(run, has_role);
  volatile int error = 0;
  const pid_t pid = Fork(program, stdio, &error);
  if (pid < 0) return {.machine_error = errno};
  if (error == 0) return {.pid = pid};
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {.error = error};
}

Started StartItem(const frame::Run& run, bool has_role) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return {.machine_error = errno};
  // Only our end: an item may not have to know that its stdout can be full.
  fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  Started started = StartOn({.out = pipe[1], .err = pipe[1]}, run, has_role);
  close(pipe[1]);
  if (started.pid > 0) {
    started.output = pipe[0];
  } else {
    close(pipe[0]);
  }
  return started;
}

}  // namespace tidemill::init
