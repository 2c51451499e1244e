// SPDX-License-Identifier: Apache-2.0
#include "wire/runtime_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/cdi_format.h"
#include "wire/json.h"
#include "wire/nearest.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

constexpr std::size_t kRuntimePathBytes = 4096;
constexpr std::size_t kMostFolders = 16;
constexpr std::size_t kMostHooks = 64;      // of a stage of one file
constexpr std::size_t kMostWords = 256;     // of a hook's command line or environment
constexpr std::int64_t kMostSeconds = 600;  // that an engine would wait for a hook
constexpr std::array kStages = {HookStage::kPrestart,        HookStage::kCreateRuntime,
                                HookStage::kCreateContainer, HookStage::kStartContainer,
                                HookStage::kPoststart,       HookStage::kPoststop};

// The first field that is not known is the one at fault, so that its line can be named.
Result<void> Only(const Value& object, const Path& path,
                  const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return json::Wrong({&path, name}, "unknown field; " + HintFor(name, known));
  }
  return {};
}

bool IsWhole(std::string_view path) {
  return path.starts_with('/') && path.size() <= kRuntimePathBytes &&
         path.find('\0') == std::string_view::npos;
}

Result<std::vector<std::string>> ReadPaths(const Fields& fields, std::string_view name) {
  return json::ReadStrings(fields, name, kMostFolders, IsWhole,
                           "must be whole paths, such as /etc/cdi");
}

// Nothing: it is absent.
Result<std::string> ReadPath(const Fields& fields, std::string_view name, std::string_view absent) {
  TIDEMILL_TRY(const std::string_view path,
               fields.Text(name, {.most_bytes = kRuntimePathBytes, .absent = absent}));
  if (!path.empty() && !IsWhole(path)) {
    return json::Wrong(fields.In(name), "must be a whole path, such as /var/log/x.log");
  }
  return std::string(path);
}

Result<OciHook> ReadHook(const Value& value, const Path& path, HookStage stage) {
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  TIDEMILL_TRY_VOID(Only(value, path, {"path", "args", "env", "timeout"}));
  OciHook hook;
  hook.stage = stage;
  TIDEMILL_TRY(hook.path, fields.Text("path", {.most_bytes = kRuntimePathBytes}));
  if (!IsWhole(hook.path)) return json::Wrong(fields.In("path"), "must be a whole path");
  const auto any = [](std::string_view word) { return word.find('\0') == std::string_view::npos; };
  TIDEMILL_TRY(hook.args,
               json::ReadStrings(fields, "args", kMostWords, any, "must be a list of words"));
  const auto variable = [&](std::string_view text) {
    return any(text) && text.find('=') != std::string_view::npos && text.front() != '=';
  };
  TIDEMILL_TRY(hook.env, json::ReadStrings(fields, "env", kMostWords, variable,
                                           "must be a list of NAME=value"));
  TIDEMILL_TRY(const std::int64_t timeout,
               fields.Int("timeout", {.least = 0, .most = kMostSeconds, .absent = 0}));
  if (timeout > 0) hook.timeout = std::chrono::seconds(timeout);
  return hook;
}

using OrderedJson = nlohmann::ordered_json;

// Where text goes wrong, as people count: the library counts bytes.
std::size_t LineAt(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

Result<OrderedJson> ParseDaemon(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return OrderedJson::object();
  OrderedJson daemon;
  try {
    daemon = OrderedJson::parse(text);
  } catch (const OrderedJson::parse_error& error) {
    return Fail(Code::kInvalid,
                "line " + std::to_string(LineAt(text, error.byte)) + ": it is not JSON");
  } catch (const OrderedJson::exception&) {
    return Fail(Code::kInvalid, "a number in it is out of range");
  }
  // What one who writes it again would lose: a field that is there twice, a number too long.
  TIDEMILL_TRY_VOID(json::Parse(text));
  if (!daemon.is_object()) return Fail(Code::kInvalid, "line 1: it must be an object");
  return daemon;
}

// As it was indented before.
std::string FormatDaemon(const OrderedJson& daemon, std::string_view before) {
  const std::size_t line = before.find("\n ");
  int indent = 2;
  if (line != std::string_view::npos) {
    const std::size_t end = before.find_first_not_of(' ', line + 1);
    indent = static_cast<int>(std::min(end, before.size()) - line - 1);
  }
  return daemon.dump(std::clamp(indent, 1, 8)) + "\n";
}

// Null: there are none.
Result<OrderedJson*> RuntimesOf(OrderedJson& daemon) {
  const auto found = daemon.find("runtimes");
  if (found == daemon.end()) return nullptr;
  if (!found->is_object()) return Fail(Code::kInvalid, "runtimes: must be an object");
  return &*found;
}

bool IsOurs(const OrderedJson& runtime) {
  if (!runtime.is_object() || !runtime.contains("path")) return false;
  const OrderedJson& path = runtime["path"];
  return path.is_string() && path.get_ref<const std::string&>().ends_with("/tidemill-runtime");
}

tl::unexpected<Error> NotOurs(const std::string& name) {
  return Fail(Code::kConflict,
              "runtimes." + name + " is another program's; choose another name with --name");
}

}  // namespace

Result<RuntimeConfig> ParseRuntimeConfig(std::string_view text) {
  TIDEMILL_TRY(const Value value, json::Parse(text));
  RuntimeConfig config;
  if (value.is_null()) return config;  // a file of comments
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(
      Only(value, {},
           {"runtimes", "driver-root", "log", "cdi-folders", "hook-folders", "from-environment"}));
  const auto is_program = [](std::string_view word) {
    return !word.empty() && (IsWhole(word) || word.find('/') == std::string_view::npos);
  };
  TIDEMILL_TRY(auto runtimes, json::ReadStrings(fields, "runtimes", kMostFolders, is_program,
                                                "must be names, such as runc, or whole paths"));
  if (fields.Find("runtimes") != nullptr) config.runtimes = std::move(runtimes);
  if (config.runtimes.empty()) return json::Wrong(fields.In("runtimes"), "must not be empty");
  TIDEMILL_TRY(config.driver_root, ReadPath(fields, "driver-root", config.driver_root));
  TIDEMILL_TRY(config.log, ReadPath(fields, "log", ""));
  TIDEMILL_TRY(config.cdi_folders, ReadPaths(fields, "cdi-folders"));
  TIDEMILL_TRY(config.hook_folders, ReadPaths(fields, "hook-folders"));
  TIDEMILL_TRY(config.from_environment, fields.Flag("from-environment", true));
  return config;
}

Result<std::vector<OciHook>> ParseHookFile(std::string_view text) {
  TIDEMILL_TRY(const Value value, json::Parse(text));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(Only(value, {}, {"hooks"}));
  const Value* const stages = fields.Find("hooks");
  const Path path = fields.In("hooks");
  if (stages == nullptr) return json::Wrong(path, "is missing");
  TIDEMILL_TRY(const Fields by_stage, Fields::Of(*stages, path));
  std::vector<std::string_view> names;
  for (const HookStage stage : kStages) names.push_back(HookName(stage));
  TIDEMILL_TRY_VOID(Only(*stages, path, names));
  std::vector<OciHook> hooks;
  for (const HookStage stage : kStages) {
    TIDEMILL_TRY(const Value* const list, by_stage.Array(HookName(stage), kMostHooks));
    if (list == nullptr) continue;
    const Path in_stage = by_stage.In(HookName(stage));
    Path at{&in_stage, {}, 0};
    for (const Value& each : *list) {
      TIDEMILL_TRY(OciHook hook, ReadHook(each, at, stage));
      hooks.push_back(std::move(hook));
      ++at.index;
    }
  }
  return hooks;
}

Result<std::string> AddDockerRuntime(std::string_view text, const std::string& name,
                                     const std::string& path) {
  TIDEMILL_TRY(OrderedJson daemon, ParseDaemon(text));
  if (!daemon.contains("runtimes")) daemon["runtimes"] = OrderedJson::object();
  TIDEMILL_TRY(OrderedJson* const runtimes, RuntimesOf(daemon));
  if (runtimes->contains(name) && !IsOurs((*runtimes)[name])) return NotOurs(name);
  (*runtimes)[name]["path"] = path;
  return FormatDaemon(daemon, text);
}

Result<std::string> RemoveDockerRuntime(std::string_view text, const std::string& name) {
  TIDEMILL_TRY(OrderedJson daemon, ParseDaemon(text));
  TIDEMILL_TRY(OrderedJson* const runtimes, RuntimesOf(daemon));
  if (runtimes == nullptr || !runtimes->contains(name)) return std::string(text);
  if (!IsOurs((*runtimes)[name])) return NotOurs(name);
  if (daemon.value("default-runtime", OrderedJson()) == OrderedJson(name)) {
    return Fail(Code::kConflict,
                "default-runtime is " + name + ": containers would have none; set another first");
  }
  runtimes->erase(name);
  if (runtimes->empty()) daemon.erase("runtimes");
  return FormatDaemon(daemon, text);
}

std::string FormatCdiList(const std::vector<CdiName>& names,
                          const std::vector<std::string>& troubles) {
  std::vector<std::string> devices;
  for (const CdiName& name : names) devices.push_back(FormatCdiName(name));
  std::string out = "{";
  json::AppendStrings(out, "devices", devices);
  json::AppendStrings(out, "troubles", troubles);
  return out + "}\n";
}

}  // namespace tidemill
