// SPDX-License-Identifier: Apache-2.0
// usage: probe escape | probe reach KIND:ADDRESS:PORT... | probe metadata GATEWAY | probe listen
//        probe fork|memory|shm|files|flood|core | probe root
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "probe.h"

namespace probe {
namespace {

const char* Given(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

constexpr int kThrough = 42;
// An attempt that hangs has not got through.
constexpr unsigned kSeconds = 5;

bool Try(const Attempt& attempt) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    errno = 0;
    if (attempt.get_through()) _exit(kThrough);
    printf("refused %s: %s\n", attempt.name, strerror(errno));
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kThrough) {
    printf("THROUGH %s\n", attempt.name);
    return true;
  }
  if (!WIFEXITED(status)) printf("refused %s: signal %d\n", attempt.name, WTERMSIG(status));
  return false;
}

int Escape() {
  int through = 0;
  for (const auto attempts :
       {MountAttempts(), ProcessAttempts(), KernelAttempts(), FileAttempts(), NetworkAttempts()}) {
    for (const Attempt& attempt : attempts) through += Try(attempt) ? 1 : 0;
  }
  return through == 0 ? 0 : 1;
}

}  // namespace

const char* Canary() { return Given("PROBE_CANARY"); }
const char* DockerSocket() { return Given("PROBE_DOCKER"); }
const char* AbstractName() { return Given("PROBE_ABSTRACT"); }
int MachinePid() { return atoi(Given("PROBE_PID")); }
int MachineShm() { return atoi(Given("PROBE_SHM")); }

}  // namespace probe

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::span<char*> rest(argv + (argc > 1 ? 2 : 1), argv + argc);
  if (what == "escape") return probe::Escape();
  if (what == "reach") return probe::Reach(rest);
  if (what == "metadata" && rest.size() == 1) return probe::Metadata(rest[0]);
  if (what == "listen") return probe::Listen();
  if (what == "fork") return probe::Fork();
  if (what == "memory") return probe::Memory();
  if (what == "shm") return probe::Shm();
  if (what == "files") return probe::Files();
  if (what == "flood") return probe::Flood();
  if (what == "core") return probe::Core();
  if (what == "root") return geteuid() == 0 ? 0 : 1;
  return 2;
}
