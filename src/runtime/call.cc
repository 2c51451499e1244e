// SPDX-License-Identifier: Apache-2.0
#include "runtime/call.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tidemill {
namespace {

// All that runc and crun know.
constexpr std::array<std::string_view, 19> kCommands = {
    "checkpoint", "create", "delete", "events", "exec",    "features", "kill",
    "list",       "pause",  "ps",     "resume", "restore", "run",      "spec",
    "start",      "state",  "update", "init",   "help"};
constexpr std::array<std::string_view, 6> kGlobalWithValue = {
    "log", "log-format", "root", "criu", "rootless", "cgroup-manager"};
constexpr std::array<std::string_view, 4> kGlobalAlone = {"debug", "systemd-cgroup", "help",
                                                          "version"};
// Of create and run.
constexpr std::array<std::string_view, 7> kWithValue = {
    "bundle", "b", "console-socket", "pid-file", "preserve-fds", "config", "f"};

template <std::size_t kCount>
bool IsAmong(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Flag {
  std::string_view name;
  std::optional<std::string_view> value;
};

// runc's own parser takes one dash as two. Nothing: it is no flag.
std::optional<Flag> FlagOf(std::string_view word) {
  if (word.size() < 2 || word[0] != '-' || word == "--") return {};
  word.remove_prefix(word[1] == '-' ? 2 : 1);
  const std::size_t sign = word.find('=');
  if (sign == std::string_view::npos) return Flag{word, {}};
  return Flag{word.substr(0, sign), word.substr(sign + 1)};
}

// Goes through the words, each of which is a flag with or without its value, or something else.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}

  bool done() const { return next_ == words_.size(); }
  std::string_view Take() { return words_[next_++]; }
  // Of a flag that must have one: behind its sign, or else the next word.
  std::string_view ValueOf(const Flag& flag) {
    if (flag.value) return *flag.value;
    return done() ? std::string_view() : Take();
  }
  // Of a flag that nobody here knows, the next word is its value if it can be no command.
  void PassUnknown(const Flag& flag) {
    if (flag.value || done() || FlagOf(words_[next_]) || IsAmong(kCommands, words_[next_])) return;
    ++next_;
  }

 private:
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
};

void ReadGlobal(Words& words, const Flag& flag, RuntimeCall& call) {
  if (IsAmong(kGlobalAlone, flag.name)) return;
  if (!IsAmong(kGlobalWithValue, flag.name)) return words.PassUnknown(flag);
  const std::string_view value = words.ValueOf(flag);
  if (flag.name == "log") call.log = value;
  if (flag.name == "log-format") call.log_json = value == "json";
}

// crun takes -bFOLDER, too.
Flag WithGluedValue(std::string_view word, Flag flag) {
  const bool is_short = word.size() > 2 && word[1] != '-' && (word[1] == 'b' || word[1] == 'f');
  if (!is_short || flag.name == "bundle") return flag;
  return word[2] == '=' ? flag : Flag{word.substr(1, 1), word.substr(2)};
}

void ReadOwn(Words& words, const Flag& flag, RuntimeCall& call) {
  if (!IsAmong(kWithValue, flag.name)) return;
  const std::string value(words.ValueOf(flag));
  if (flag.name == "bundle" || flag.name == "b") call.bundle = value;
  if (flag.name == "config" || flag.name == "f") call.config_file = value;
}

}  // namespace

std::string RuntimeCall::ConfigPath() const {
  return (std::filesystem::path(bundle) / config_file).string();
}

RuntimeCall ReadRuntimeCall(const std::vector<std::string>& args) {
  RuntimeCall call;
  Words words(args);
  while (!words.done() && call.command.empty()) {
    const std::string_view word = words.Take();
    if (word == "--") continue;
    if (const auto flag = FlagOf(word)) {
      ReadGlobal(words, *flag, call);
    } else {
      call.command = word;
    }
  }
  if (!call.MakesContainer()) return call;
  while (!words.done()) {
    const std::string_view word = words.Take();
    if (word == "--") break;
    if (const auto flag = FlagOf(word)) ReadOwn(words, WithGluedValue(word, *flag), call);
  }
  return call;
}

}  // namespace tidemill
