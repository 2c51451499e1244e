// SPDX-License-Identifier: Apache-2.0
#include "cli/item_shell.h"

#include <utility>

#include "cli/child.h"
#include "cli/run_program.h"

namespace tidemill::cli {
namespace {

constexpr std::string_view kReady = "tidemill: it waits";

// In memory, since secrets are among the variables.
#define TIDEMILL_SHELL_FOLDER "/dev/shm/.tidemill-shell"

constexpr const char* kWait =
    "f=" TIDEMILL_SHELL_FOLDER
    "; umask 077; mkdir -p $f && export -p > $f/env && pwd > $f/pwd || exit 1; echo 'tidemill: it "
    "waits'; while [ ! -s $f/exit ]; do sleep 1; done; read -r c < $f/exit; exit $c";

constexpr const char* kShell =
    "f=" TIDEMILL_SHELL_FOLDER
    "; . $f/env; read -r d < $f/pwd; cd \"$d\"; s=/bin/sh; [ -x /bin/bash ] && s=/bin/bash; $s; "
    "c=$?; echo $c > $f/exit; exit $c";

#undef TIDEMILL_SHELL_FOLDER

}  // namespace

const std::vector<std::string>& WaitingCommand() {
  static const std::vector<std::string> command = {"/bin/sh", "-c", kWait};
  return command;
}

bool IsWaiting(std::string_view log) { return log.find(kReady) != log.npos; }

Result<int> OpenShell(const Surroundings& around, const std::string& socket,
                      const std::string& agent_id) {
  const auto docker = FindProgram("docker", {}, around.Env("PATH").value_or(""));
  if (!docker) return Fail(Code::kNotFound, "docker is not on the PATH, which --shell needs");
  const std::vector<std::string> words = {docker->string(), "-H", "unix://" + socket};
  const auto with = [&words](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  TIDEMILL_TRY(ProgramEnd found, RunProgram({.words = with({"ps", "-q", "--no-trunc", "--filter",
                                                            "label=tidemill.agent=" + agent_id}),
                                             .keeps = true}));
  while (found.out.ends_with('\n')) found.out.pop_back();
  const bool is_one = !found.out.empty() && found.out.find('\n') == found.out.npos;
  if (found.exit != 0 || !is_one) return Fail(Code::kNotFound, "its container is not there");
  TIDEMILL_TRY(const ProgramEnd shell,
               RunProgram({.words = with({"exec", "-it", found.out, "/bin/sh", "-c", kShell}),
                           .is_interactive = true}));
  return shell.exit;
}

}  // namespace tidemill::cli
