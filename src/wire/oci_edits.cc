// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>

#include "wire/cdi_format.h"
#include "wire/json.h"
#include "wire/oci_json.h"

namespace tidemill {
namespace {

using json::Path;
using json::Value;

// The object or array in a field, which is made if it is absent; an engine may write null for it.
Result<Value*> Part(Value& object, const Path& path, Value::value_t type) {
  Value& part = object[std::string(path.name)];
  if (part.is_null()) part = Value(type);
  if (part.type() == type) return &part;
  return json::Wrong(path,
                     type == Value::value_t::array ? "must be an array" : "must be an object");
}
Result<Value*> Object(Value& object, const Path& path) {
  return Part(object, path, Value::value_t::object);
}
Result<Value*> List(Value& object, const Path& path) {
  return Part(object, path, Value::value_t::array);
}

// The text in a field of something that may be anything; empty: there is none.
std::string_view TextIn(const Value& value, const char* field) {
  if (!value.is_object()) return {};
  const auto found = value.find(field);
  if (found == value.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void SetVariable(Value& env, const std::string& variable) {
  const auto same = [&](const Value& other) {
    return other.is_string() && NameOf(other.get_ref<const std::string&>()) == NameOf(variable);
  };
  const auto found = std::find_if(env.begin(), env.end(), same);
  if (found == env.end()) return env.push_back(variable);
  *found = variable;
  env.erase(std::remove_if(found + 1, env.end(), same), env.end());
}

void AddGroup(Value& groups, std::uint32_t group) {
  if (group != 0 && std::find(groups.begin(), groups.end(), group) == groups.end()) {
    groups.push_back(group);
  }
}

// An owner of the process that is not root.
std::optional<std::uint32_t> OwnerOf(const Value& process, const char* field) {
  if (!process.is_object()) return {};
  const auto user = process.find("user");
  if (user == process.end() || !user->is_object()) return {};
  const auto found = user->find(field);
  if (found == user->end() || !found->is_number_unsigned()) return {};
  const auto id = found->get<std::uint64_t>();
  if (id == 0 || id > std::numeric_limits<std::uint32_t>::max()) return {};
  return static_cast<std::uint32_t>(id);
}

Value NodeOf(const CdiNode& node, const Value& process) {
  Value out = {{"path", node.path}, {"type", std::string(1, node.type)}};
  if (node.type != 'p') {
    out["major"] = node.major.value_or(0);
    out["minor"] = node.minor.value_or(0);
  }
  if (node.file_mode) out["fileMode"] = *node.file_mode;
  const auto uid = node.uid ? node.uid : OwnerOf(process, "uid");
  const auto gid = node.gid ? node.gid : OwnerOf(process, "gid");
  if (uid) out["uid"] = *uid;
  if (gid) out["gid"] = *gid;
  return out;
}

Value RuleOf(const CdiNode& node) {
  return {{"allow", true},
          // An unbuffered device is a character device to the rules.
          {"type", node.type == 'b' ? "b" : "c"},
          {"major", node.major.value_or(0)},
          {"minor", node.minor.value_or(0)},
          {"access", node.permissions.empty() ? "rwm" : node.permissions}};
}

Result<void> AddNodes(Value& config, const std::vector<CdiNode>& nodes) {
  const Path in_linux{nullptr, "linux"};
  TIDEMILL_TRY(Value* const part, Object(config, in_linux));
  TIDEMILL_TRY(Value* const devices, List(*part, {&in_linux, "devices"}));
  const Path in_resources{&in_linux, "resources"};
  TIDEMILL_TRY(Value* const resources, Object(*part, in_resources));
  TIDEMILL_TRY(Value* const rules, List(*resources, {&in_resources, "devices"}));
  const Value process = config.value("process", Value());
  for (const CdiNode& node : nodes) {
    if (node.type == '\0') return Fail(Code::kInternal, node.path + " has no type");
    const auto same = [&](const Value& other) { return TextIn(other, "path") == node.path; };
    devices->erase(std::remove_if(devices->begin(), devices->end(), same), devices->end());
    devices->push_back(NodeOf(node, process));
    if (node.type == 'p' || node.permissions == "none") continue;
    Value rule = RuleOf(node);
    if (std::find(rules->begin(), rules->end(), rule) == rules->end()) {
      rules->push_back(std::move(rule));
    }
  }
  return {};
}

// Without "//", "." and a slash at the end.
std::string Plain(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    if (!name.empty() && name != ".") plain.append("/").append(name);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return plain.empty() ? "/" : plain;
}

bool IsBeneath(const std::string& path, const std::string& folder) {
  if (folder == "/") return path.size() > 1;
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

Value MountOf(const CdiMount& mount) {
  std::vector<std::string> options = mount.options;
  const bool is_bind = mount.type.empty() || mount.type == "bind";
  const auto binds = [](const std::string& option) {
    return option == "bind" || option == "rbind";
  };
  // To runtimes it is the option that makes a mount one that binds.
  if (is_bind && std::none_of(options.begin(), options.end(), binds)) options.push_back("bind");
  return {{"source", mount.host_path},
          {"destination", mount.container_path},
          {"type", is_bind ? "bind" : mount.type},
          {"options", options}};
}

// The mounts of a container, with where each is: to look that up for each pair would take long.
class MountList {
 public:
  explicit MountList(Value& mounts) : mounts_(mounts.get_ref<Value::array_t&>()) {
    for (const Value& mount : mounts_) places_.push_back(Plain(TextIn(mount, "destination")));
  }

  void Add(const CdiMount& mount) {
    const std::string here = Plain(mount.container_path);
    for (std::size_t i = places_.size(); i-- > 0;) {
      if (places_[i] != here) continue;
      places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(i));
      mounts_.erase(mounts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const auto beneath =
        std::find_if(places_.begin(), places_.end(),
                     [&](const std::string& other) { return IsBeneath(other, here); });
    mounts_.insert(mounts_.begin() + (beneath - places_.begin()), MountOf(mount));
    places_.insert(beneath, here);
  }

 private:
  Value::array_t& mounts_;
  std::vector<std::string> places_;
};

Value HookOf(const OciHook& hook) {
  Value out = {{"path", hook.path}};
  if (!hook.args.empty()) out["args"] = hook.args;
  if (!hook.env.empty()) out["env"] = hook.env;
  if (hook.timeout) out["timeout"] = hook.timeout->count();
  return out;
}

Result<void> AddHooks(Value& config, const std::vector<OciHook>& hooks) {
  const Path in_hooks{nullptr, "hooks"};
  TIDEMILL_TRY(Value* const stages, Object(config, in_hooks));
  for (const OciHook& hook : hooks) {
    TIDEMILL_TRY(Value* const stage, List(*stages, {&in_hooks, HookName(hook.stage)}));
    Value added = HookOf(hook);
    if (std::find(stage->begin(), stage->end(), added) == stage->end()) {
      stage->push_back(std::move(added));
    }
  }
  return {};
}

Result<void> EditProcess(Value& config, const CdiEdits& edits) {
  if (!config.contains("process") && edits.env.empty() && edits.groups.empty()) return {};
  const Path in_process{nullptr, "process"};
  TIDEMILL_TRY(Value* const process, Object(config, in_process));
  if (!edits.groups.empty()) {
    const Path in_user{&in_process, "user"};
    TIDEMILL_TRY(Value* const user, Object(*process, in_user));
    TIDEMILL_TRY(Value* const groups, List(*user, {&in_user, "additionalGids"}));
    for (const std::uint32_t group : edits.groups) AddGroup(*groups, group);
  }
  if (!process->contains("env") && edits.env.empty()) return {};
  TIDEMILL_TRY(Value* const env, List(*process, {&in_process, "env"}));
  const auto is_ours = [](const Value& each) {
    return each.is_string() && NameOf(each.get_ref<const std::string&>()) == kCdiVariable;
  };
  env->erase(std::remove_if(env->begin(), env->end(), is_ours), env->end());
  for (const std::string& variable : edits.env) SetVariable(*env, variable);
  return {};
}

}  // namespace

Result<std::string> EditOciConfig(std::string_view text, const CdiEdits& edits) {
  TIDEMILL_TRY(Value config, json::Parse(text));
  if (!config.is_object()) return json::Wrong({}, "must be an object");
  TIDEMILL_TRY_VOID(EditProcess(config, edits));
  if (!edits.nodes.empty()) TIDEMILL_TRY_VOID(AddNodes(config, edits.nodes));
  if (!edits.mounts.empty()) {
    TIDEMILL_TRY(Value* const mounts, List(config, {nullptr, "mounts"}));
    MountList list(*mounts);
    for (const CdiMount& mount : edits.mounts) list.Add(mount);
  }
  if (!edits.hooks.empty()) TIDEMILL_TRY_VOID(AddHooks(config, edits.hooks));
  return config.dump(-1, ' ', false, Value::error_handler_t::replace);
}

}  // namespace tidemill
