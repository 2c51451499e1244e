// SPDX-License-Identifier: Apache-2.0
#include "env/hold.h"

#include "env/jupyter.h"

namespace tidemill {
namespace {

// Of the item, and of whatever runs beside it.
constexpr const char* kKept = "kept=\"${TIDEMILL_SCRATCH:-/tmp}/.kept\"\n";
constexpr const char* kToken = "token=\"${TIDEMILL_SCRATCH:-/tmp}/.token\"\n";

}  // namespace

std::vector<std::string> HoldWords(int seconds) {
  return {"-c", std::string(kKept) +
                    "alone=0\n"
                    "while [ $alone -lt " +
                    std::to_string(seconds) +
                    " ]; do\n"
                    "  sleep 2\n"
                    "  if [ -e \"$kept\" ]; then rm -f \"$kept\"; alone=0\n"
                    "  else alone=$((alone + 2)); fi\n"
                    "done\n"};
}

std::vector<std::string> KeepWords() {
  return {"-c", std::string(kKept) + "while : > \"$kept\"; do sleep 1; done\n"};
}

std::vector<std::string> HeldJupyterWords(const std::string& folder, int idle_seconds) {
  const std::string idle = std::to_string(idle_seconds);
  std::vector<std::string> words = JupyterWords(folder, "127.0.0.1");
  words[1] = std::string(kToken) +
             "alone=0\n"
             "until [ -e \"$token\" ]; do\n"
             "  alone=$((alone + 1))\n"
             "  [ $alone -le " +
             std::to_string(kHeldSeconds) +
             " ] || exit 0\n"
             "  sleep 1\n"
             "done\n"
             "JUPYTER_TOKEN=$(cat \"$token\")\n"
             "rm -f \"$token\"\n"
             "export JUPYTER_TOKEN\n" +
             words[1];
  // A kernel that only waits is ended too, also if a browser shows it: else a page that somebody
  // has left open would hold the machine.
  words.insert(words.end(), {"--ServerApp.shutdown_no_activity_timeout=" + idle,
                             "--MappingKernelManager.cull_idle_timeout=" + idle,
                             "--MappingKernelManager.cull_interval=60",
                             "--MappingKernelManager.cull_connected=True"});
  return words;
}

std::vector<std::string> TellTokenWords() {
  return {"-c", std::string(kToken) +
                    "umask 077\n"
                    "cat > \"$token.new\" && mv \"$token.new\" \"$token\"\n"};
}

}  // namespace tidemill
