// SPDX-License-Identifier: Apache-2.0
#include "wire/device_json.h"

#include <algorithm>

#include "base/limits.h"
#include "model/job.h"
#include "wire/spec_needs.h"

namespace tidemill::json {
namespace {

Result<std::string> ReadModel(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view model,
               fields.Text("model", {.most_bytes = kDeviceModelBytes, .absent = ""}));
  if (model.empty() || IsDeviceModel(model)) return std::string(model);
  return Wrong(fields.In("model"), "must be words such as A10G, without commas");
}

Result<std::int32_t> ReadVersion(const Fields& fields) {
  const Value* value = fields.Find("version");
  if (value == nullptr) return 0;
  const auto version =
      value->is_string() ? ParseDeviceVersion(value->get_ref<const std::string&>()) : std::nullopt;
  // YAML's 12.10 is the number 12.1.
  if (!version) return Wrong(fields.In("version"), "must be a version in quotes, such as \"12.2\"");
  return *version;
}

Result<std::vector<std::string>> ReadDeviceIds(const Fields& fields, Whole bounds) {
  TIDEMILL_TRY(std::vector<std::string> ids,
               ReadStrings(fields, "ids", static_cast<std::size_t>(bounds.most), IsDeviceId,
                           "must be names in quotes, such as \"0\""));
  std::vector<std::string> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return Wrong(fields.In("ids"), "has " + Quoted(*twice) + " twice");
  if (ids.empty() && fields.Find("ids") != nullptr) {
    return Wrong(fields.In("ids"), "must name at least one");
  }
  return ids;
}

Result<DeviceCount> ReadDevice(const Value& value, const Path& path, Whole bounds) {
  if (!value.is_object()) {
    TIDEMILL_TRY(const std::int64_t count, IntOf(value, path, bounds));
    return DeviceCount(static_cast<std::int32_t>(count));
  }
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  TIDEMILL_TRY_VOID(fields.Only({"count", "model", "memory", "version", "ids"}));
  DeviceCount device;
  TIDEMILL_TRY(device.ids, ReadDeviceIds(fields, bounds));
  bounds.absent = device.ids.empty() ? 1 : static_cast<std::int64_t>(device.ids.size());
  TIDEMILL_TRY(const std::int64_t count, fields.Int("count", bounds));
  if (!device.ids.empty() && count > static_cast<std::int64_t>(device.ids.size())) {
    return Wrong(path, "counts more than it names");
  }
  device.count = static_cast<std::int32_t>(count);
  TIDEMILL_TRY(device.model, ReadModel(fields));
  TIDEMILL_TRY(device.memory, ReadSize(fields, "memory"));
  TIDEMILL_TRY(device.version, ReadVersion(fields));
  return device;
}

std::string DeviceText(const DeviceCount& device) {
  std::string out = "{";
  AppendNumber(out, "count", device.count);
  if (!device.model.empty()) AppendText(out, "model", device.model);
  if (device.memory > 0) AppendNumber(out, "memory", device.memory);
  if (device.version > 0) AppendText(out, "version", FormatDeviceVersion(device.version));
  if (!device.ids.empty()) AppendStrings(out, "ids", device.ids);
  return out.append("}");
}

}  // namespace

Result<Devices> ReadDevices(const Fields& fields, std::string_view name, Whole count) {
  Devices devices;
  const Value* value = fields.Find(name);
  if (value == nullptr) return devices;
  const Path path = fields.In(name);
  TIDEMILL_TRY_VOID(Fields::Of(*value, path));
  if (value->size() > limits::kDeviceKinds) {
    return Wrong(path, "has more than " + std::to_string(limits::kDeviceKinds) + " kinds");
  }
  for (const auto& [kind, one] : value->get_ref<const Value::object_t&>()) {
    if (!IsDeviceKind(kind)) {
      return Wrong(path, Quoted(kind.substr(0, limits::kNameBytes)) +
                             " is no kind of device; write one such as nvidia.com/gpu");
    }
    if (one.is_string() && one.get_ref<const std::string&>() == "all") {
      devices[kind] = devices[kWholeMachine] = 1;
      continue;
    }
    TIDEMILL_TRY(devices[kind], ReadDevice(one, Path{&path, kind, 0}, count));
  }
  return devices;
}

std::string DevicesText(const Devices& devices) {
  std::string out = "{";
  for (const auto& [kind, device] : devices) {
    const bool is_plain = device == DeviceCount(device.count);
    AppendValue(out, kind, is_plain ? std::to_string(device.count) : DeviceText(device));
  }
  return out.append("}");
}

}  // namespace tidemill::json
