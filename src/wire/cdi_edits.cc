// SPDX-License-Identifier: Apache-2.0
#include "wire/cdi_edits.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "wire/cdi_format.h"

namespace tidemill::json {
namespace {

// The kernel's PATH_MAX, without the NUL.
constexpr std::size_t kPathBytes = 4095;
// The kernel's MAX_ARG_STRLEN, without the NUL: no program can be given more in one string.
constexpr std::size_t kArgumentBytes = 128 * 1024 - 1;
// All the libraries of a driver, and what vendors may add to them, are a few hundred; a machine
// has a few dozen devices. Some ten times as many.
constexpr std::size_t kMounts = 4096;
constexpr std::size_t kNodes = 1024;
constexpr std::size_t kVariables = 1024;
constexpr std::size_t kHooks = 256;
// A hook that makes links gets each of them as an argument.
constexpr std::size_t kArguments = 4096;
constexpr std::size_t kOptions = 64;
constexpr std::size_t kOptionBytes = 1024;
// NGROUPS_MAX is 65,536; a device needs one or two.
constexpr std::size_t kGroups = 256;
// The kernel keeps a device's number in 12 and 20 bits. CDI takes a major of 0 for none at all.
constexpr std::int64_t kMostMajor = (1 << 12) - 1;
constexpr std::int64_t kMostMinor = (1 << 20) - 1;
// The bits of a mode that CDI's own type has in this place.
constexpr std::int64_t kMostMode = 0777;
// The highest is nobody's: it stands for "unchanged".
constexpr std::int64_t kMostId = 0xfffffffe;
// A container that waits longer for a hook is stuck.
constexpr std::int64_t kMostTimeout = 24 * 60 * 60;

constexpr std::array kStages = {HookStage::kPrestart,        HookStage::kCreateRuntime,
                                HookStage::kCreateContainer, HookStage::kStartContainer,
                                HookStage::kPoststart,       HookStage::kPoststop};

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}

// Without empty parts and single dots, so that one place has one spelling; ".." is kept.
std::string Plain(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") plain.append("/").append(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return plain.empty() ? "/" : plain;
}

bool IsIn(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

Result<std::string> ReadPath(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::string_view path, fields.Text(name, {.most_bytes = kPathBytes}));
  if (path.front() != '/') return Wrong(fields.In(name), "must be an absolute path");
  if ((Plain(path) + "/").find("/../") != std::string::npos) {
    return Wrong(fields.In(name), "must not have '..' in it");
  }
  return std::string(path);
}

Result<std::string> ReadInnerPath(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(std::string path, ReadPath(fields, name));
  const std::string plain = Plain(path);
  if (plain == "/") return Wrong(fields.In(name), "must not be the container's root");
  if (plain == "/dev") return Wrong(fields.In(name), "must not be all of /dev");
  for (const std::string_view kernel : {"/proc", "/sys"}) {
    if (IsIn(plain, kernel)) {
      return Wrong(fields.In(name), "must not be in " + std::string(kernel) + " of the container");
    }
  }
  return path;
}

// The strings of an array, which may be absent; why_not(text) is empty for those that are good.
template <typename WhyNot>
Result<std::vector<std::string>> ReadList(const Fields& fields, std::string_view name,
                                          std::size_t most, WhyNot why_not) {
  std::vector<std::string> list;
  TIDEMILL_TRY(const Value* array, fields.Array(name, most));
  if (array == nullptr) return list;
  const Path in_array = fields.In(name);
  for (const Value& value : *array) {
    const Path path{&in_array, {}, list.size()};
    if (value.is_number() || value.is_boolean()) {
      return Wrong(path, "must be a string: put it in quotes");
    }
    if (!value.is_string()) return Wrong(path, "must be a string");
    const std::string& text = value.get_ref<const std::string&>();
    const std::string why = why_not(text);
    if (!why.empty()) return Wrong(path, why);
    list.push_back(text);
  }
  return list;
}

std::string TooLong(std::size_t most) {
  return "is longer than " + std::to_string(most) + " bytes";
}

std::string WhyNoVariable(std::string_view text) {
  if (text.size() > kArgumentBytes) return TooLong(kArgumentBytes);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return "must be NAME=value";
  if (HasControl(text.substr(0, equals))) return "must not have control characters in its name";
  if (text.find_first_of(std::string_view("\0\n\r", 3)) != std::string_view::npos) {
    return "must not have a NUL or a line break";
  }
  return "";
}

std::string WhyNoArgument(std::string_view text) {
  if (text.size() > kArgumentBytes) return TooLong(kArgumentBytes);
  if (text.find('\0') != std::string_view::npos) return "must not have a NUL";
  return "";
}

std::string WhyNoOption(std::string_view text) {
  if (text.empty()) return "must not be empty";
  if (text.size() > kOptionBytes) return TooLong(kOptionBytes);
  if (HasControl(text)) return "must not have control characters";
  return "";
}

Result<std::optional<std::int64_t>> ReadNumber(const Fields& fields, std::string_view name,
                                               std::int64_t least, std::int64_t most) {
  if (fields.Find(name) == nullptr) return std::nullopt;
  TIDEMILL_TRY(const std::int64_t number, fields.Int(name, {.least = least, .most = most}));
  return number;
}

Result<std::optional<std::uint32_t>> ReadSmall(const Fields& fields, std::string_view name,
                                               std::int64_t most) {
  TIDEMILL_TRY(const auto number, ReadNumber(fields, name, 0, most));
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

Result<char> ReadType(const Fields& fields) {
  if (fields.Find("type") == nullptr) return '\0';
  TIDEMILL_TRY(const std::string_view type, fields.Text("type", {.most_bytes = kPathBytes}));
  if (type.size() != 1 || std::string_view("bcup").find(type.front()) == std::string_view::npos) {
    return Wrong(fields.In("type"), "must be \"b\", \"c\", \"u\" or \"p\"");
  }
  return type.front();
}

Result<std::string> ReadPermissions(const Fields& fields) {
  constexpr std::string_view kWhat = "must be of the letters r, w and m, each once, or \"none\"";
  TIDEMILL_TRY(const std::string_view text,
               fields.Text("permissions", {.most_bytes = kPathBytes, .absent = ""}));
  if (text == "none") return std::string(text);
  std::string sorted(text);
  std::sort(sorted.begin(), sorted.end());
  const bool is_twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (is_twice || sorted.find_first_not_of("mrw") != std::string::npos) {
    return Wrong(fields.In("permissions"), kWhat);
  }
  return std::string(text);
}

Result<CdiNode> ReadNode(const Fields& fields, std::string_view version) {
  TIDEMILL_TRY_VOID(fields.Only(
      {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"}));
  TIDEMILL_TRY_VOID(CheckSince(fields, "hostPath", "0.5.0", version));
  CdiNode node;
  TIDEMILL_TRY(node.path, ReadInnerPath(fields, "path"));
  if (fields.Find("hostPath") != nullptr) {
    TIDEMILL_TRY(node.host_path, ReadPath(fields, "hostPath"));
  }
  TIDEMILL_TRY(node.type, ReadType(fields));
  TIDEMILL_TRY(node.major, ReadNumber(fields, "major", 1, kMostMajor));
  TIDEMILL_TRY(node.minor, ReadNumber(fields, "minor", 0, kMostMinor));
  if (node.minor && !node.major) return Wrong(fields.In("minor"), "is there without a major");
  // Writers leave a minor of 0 away.
  if (node.major && !node.minor) node.minor = 0;
  TIDEMILL_TRY(node.file_mode, ReadSmall(fields, "fileMode", kMostMode));
  TIDEMILL_TRY(node.permissions, ReadPermissions(fields));
  TIDEMILL_TRY(node.uid, ReadSmall(fields, "uid", kMostId));
  TIDEMILL_TRY(node.gid, ReadSmall(fields, "gid", kMostId));
  return node;
}

Result<std::vector<CdiNode>> ReadNodes(const Fields& edits, std::string_view version) {
  std::vector<CdiNode> nodes;
  std::map<std::string, std::size_t> seen;
  TIDEMILL_TRY_VOID(
      ReadEach(edits, "deviceNodes", kNodes, [&](const Fields& fields) -> Result<void> {
        TIDEMILL_TRY(CdiNode node, ReadNode(fields, version));
        const auto [before, is_new] = seen.try_emplace(Plain(node.path), nodes.size());
        if (!is_new) {
          return Wrong(fields.In("path"), "is there twice; first in deviceNodes[" +
                                              std::to_string(before->second) + "]");
        }
        nodes.push_back(std::move(node));
        return {};
      }));
  return nodes;
}

Result<CdiMount> ReadMount(const Fields& fields, std::string_view version) {
  TIDEMILL_TRY_VOID(fields.Only({"hostPath", "containerPath", "type", "options"}));
  TIDEMILL_TRY_VOID(CheckSince(fields, "type", "0.4.0", version));
  CdiMount mount;
  TIDEMILL_TRY(mount.host_path, ReadPath(fields, "hostPath"));
  TIDEMILL_TRY(mount.container_path, ReadInnerPath(fields, "containerPath"));
  TIDEMILL_TRY(mount.type, fields.Text("type", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(mount.options, ReadList(fields, "options", kOptions, WhyNoOption));
  return mount;
}

Result<HookStage> ReadStage(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view name,
               fields.Text("hookName", {.most_bytes = limits::kNameBytes}));
  for (const HookStage stage : kStages) {
    if (HookName(stage) == name) return stage;
  }
  std::string known;
  for (const HookStage stage : kStages) known.append(" ").append(HookName(stage));
  return Wrong(fields.In("hookName"), "is no hook; there are" + known);
}

Result<OciHook> ReadHook(const Fields& fields) {
  TIDEMILL_TRY_VOID(fields.Only({"hookName", "path", "args", "env", "timeout"}));
  OciHook hook;
  TIDEMILL_TRY(hook.stage, ReadStage(fields));
  TIDEMILL_TRY(hook.path, ReadPath(fields, "path"));
  TIDEMILL_TRY(hook.args, ReadList(fields, "args", kArguments, WhyNoArgument));
  TIDEMILL_TRY(hook.env, ReadList(fields, "env", kVariables, WhyNoVariable));
  TIDEMILL_TRY(const auto timeout, ReadNumber(fields, "timeout", 1, kMostTimeout));
  if (timeout) hook.timeout = std::chrono::seconds(*timeout);
  return hook;
}

// CDI's text and its programs spell this field in two ways.
Result<std::vector<std::uint32_t>> ReadGroups(const Fields& fields, std::string_view version) {
  constexpr std::string_view kFirst = "additionalGids";
  constexpr std::string_view kSecond = "additionalGIDs";
  TIDEMILL_TRY_VOID(CheckSince(fields, kFirst, "0.7.0", version));
  TIDEMILL_TRY_VOID(CheckSince(fields, kSecond, "0.7.0", version));
  const bool is_second = fields.Find(kSecond) != nullptr;
  if (is_second && fields.Find(kFirst) != nullptr) {
    return Wrong(fields.In(kSecond), "is there besides 'additionalGids'; write one of them");
  }
  const std::string_view name = is_second ? kSecond : kFirst;
  std::vector<std::uint32_t> groups;
  TIDEMILL_TRY(const Value* array, fields.Array(name, kGroups));
  if (array == nullptr) return groups;
  const Path in_array = fields.In(name);
  Path path{&in_array, {}, 0};
  for (const Value& value : *array) {
    TIDEMILL_TRY(const std::int64_t group, IntOf(value, path, {.least = 0, .most = kMostId}));
    if (group != 0) groups.push_back(static_cast<std::uint32_t>(group));  // CDI ignores 0
    ++path.index;
  }
  return groups;
}

Result<void> RefuseUnapplied(const Fields& fields, std::string_view name, std::string_view since,
                             std::string_view version) {
  TIDEMILL_TRY_VOID(CheckSince(fields, name, since, version));
  if (fields.Find(name) == nullptr) return {};
  return Wrong(fields.In(name), "is not applied here, so the device would lack what it asks for");
}

}  // namespace

Result<void> CheckSince(const Fields& fields, std::string_view name, std::string_view since,
                        std::string_view version) {
  // The versions that there are compare as text.
  if (fields.Find(name) == nullptr || version >= since) return {};
  return Wrong(fields.In(name), "needs cdiVersion " + std::string(since) +
                                    " or newer; this spec says " + std::string(version));
}

Result<CdiEdits> ReadEdits(const Fields& owner, std::string_view version) {
  constexpr std::string_view kName = "containerEdits";
  const Value* value = owner.Find(kName);
  if (value == nullptr) return CdiEdits();
  const Path path = owner.In(kName);
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(fields.Only({"env", "deviceNodes", "mounts", "hooks", "additionalGids",
                                 "additionalGIDs", "intelRdt", "netDevices"}));
  TIDEMILL_TRY_VOID(RefuseUnapplied(fields, "intelRdt", "0.7.0", version));
  TIDEMILL_TRY_VOID(RefuseUnapplied(fields, "netDevices", "1.1.0", version));
  CdiEdits edits;
  TIDEMILL_TRY(edits.env, ReadList(fields, "env", kVariables, WhyNoVariable));
  TIDEMILL_TRY(edits.nodes, ReadNodes(fields, version));
  TIDEMILL_TRY_VOID(ReadEach(fields, "mounts", kMounts, [&](const Fields& one) -> Result<void> {
    TIDEMILL_TRY(CdiMount mount, ReadMount(one, version));
    edits.mounts.push_back(std::move(mount));
    return {};
  }));
  TIDEMILL_TRY_VOID(ReadEach(fields, "hooks", kHooks, [&](const Fields& one) -> Result<void> {
    TIDEMILL_TRY(OciHook hook, ReadHook(one));
    edits.hooks.push_back(std::move(hook));
    return {};
  }));
  TIDEMILL_TRY(edits.groups, ReadGroups(fields, version));
  return edits;
}

}  // namespace tidemill::json
