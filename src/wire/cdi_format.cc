// SPDX-License-Identifier: Apache-2.0
#include "wire/cdi_format.h"

#include <utility>

#include "wire/json.h"

namespace tidemill {
namespace {

// Keeps the fields in the order in which they are put, which is that of CDI's own text.
using Ordered = nlohmann::ordered_json;

template <typename T>
void PutSome(Ordered& object, const char* field, const T& value) {
  if (!value.empty()) object[field] = value;
}

template <typename T>
void PutIfThere(Ordered& object, const char* field, const std::optional<T>& value) {
  if (value) object[field] = *value;
}

Ordered NodeToJson(const CdiNode& node) {
  Ordered object = {{"path", node.path}};
  PutSome(object, "hostPath", node.host_path);
  if (node.type != '\0') object["type"] = std::string(1, node.type);
  PutIfThere(object, "major", node.major);
  PutIfThere(object, "minor", node.minor);
  PutIfThere(object, "fileMode", node.file_mode);
  PutSome(object, "permissions", node.permissions);
  PutIfThere(object, "uid", node.uid);
  PutIfThere(object, "gid", node.gid);
  return object;
}

Ordered MountToJson(const CdiMount& mount) {
  Ordered object = {{"hostPath", mount.host_path}, {"containerPath", mount.container_path}};
  PutSome(object, "type", mount.type);
  PutSome(object, "options", mount.options);
  return object;
}

Ordered HookToJson(const OciHook& hook) {
  Ordered object = {{"hookName", HookName(hook.stage)}, {"path", hook.path}};
  PutSome(object, "args", hook.args);
  PutSome(object, "env", hook.env);
  if (hook.timeout) object["timeout"] = hook.timeout->count();
  return object;
}

Ordered EditsToJson(const CdiEdits& edits) {
  Ordered object = Ordered::object();
  PutSome(object, "env", edits.env);
  for (const CdiNode& node : edits.nodes) object["deviceNodes"].push_back(NodeToJson(node));
  for (const CdiMount& mount : edits.mounts) object["mounts"].push_back(MountToJson(mount));
  for (const OciHook& hook : edits.hooks) object["hooks"].push_back(HookToJson(hook));
  PutSome(object, "additionalGids", edits.groups);
  return object;
}

}  // namespace

std::string_view HookName(HookStage stage) {
  switch (stage) {
    case HookStage::kPrestart:
      return "prestart";
    case HookStage::kCreateRuntime:
      return "createRuntime";
    case HookStage::kCreateContainer:
      return "createContainer";
    case HookStage::kStartContainer:
      return "startContainer";
    case HookStage::kPoststart:
      return "poststart";
    case HookStage::kPoststop:
      return "poststop";
  }
  return "";
}

std::string FormatCdiSpec(const CdiSpec& spec) {
  Ordered object = {{"cdiVersion", spec.version}, {"kind", spec.kind}};
  PutSome(object, "annotations", spec.annotations);
  object["devices"] = Ordered::array();
  for (const CdiDevice& device : spec.devices) {
    Ordered one = {{"name", device.name}};
    PutSome(one, "annotations", device.annotations);
    one["containerEdits"] = EditsToJson(device.edits);
    object["devices"].push_back(std::move(one));
  }
  if (spec.edits != CdiEdits()) object["containerEdits"] = EditsToJson(spec.edits);
  return object.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace tidemill
