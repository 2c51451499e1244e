// SPDX-License-Identifier: Apache-2.0
#include "model/device.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "base/cut.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::int32_t kMinors = 1000;
char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr char kSpace = '~';   // of a model, where spaces stand between devices
constexpr char kNextId = ';';  // between names

template <typename Number>
std::optional<Number> NumberOf(std::string_view digits) {
  Number number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

// What stands before the first `sign`; that and the sign are taken off `text`.
std::optional<std::vector<std::string>> ParseIds(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    const std::string_view id = CutAt(text, kNextId);
    if (!IsDeviceId(id)) return std::nullopt;
    ids.emplace_back(id);
  }
  return ids;
}

// "2", or "2,memory,version,model", or "2,memory,version,model,id;id"
std::optional<DeviceCount> ParseCount(std::string_view text) {
  const auto count = NumberOf<std::int32_t>(CutAt(text, ','));
  if (!count) return std::nullopt;
  DeviceCount device = *count;
  if (text.empty()) return device;
  const auto memory = NumberOf<std::int64_t>(CutAt(text, ','));
  const auto version = NumberOf<std::int32_t>(CutAt(text, ','));
  if (!memory || !version) return std::nullopt;
  device.memory = *memory;
  device.version = *version;
  device.model = CutAt(text, ',');
  std::replace(device.model.begin(), device.model.end(), kSpace, ' ');
  if (!device.model.empty() && !IsDeviceModel(device.model)) return std::nullopt;
  auto ids = ParseIds(text);
  if (!ids) return std::nullopt;
  device.ids = std::move(*ids);
  return device;
}

std::string FormatCount(const DeviceCount& device) {
  std::string text = std::to_string(device.count);
  if (device == DeviceCount(device.count)) return text;
  std::string model = device.model;
  std::replace(model.begin(), model.end(), ' ', kSpace);
  text += "," + std::to_string(device.memory) + "," + std::to_string(device.version) + "," + model;
  char sign = ',';
  for (const std::string& id : device.ids) text += std::exchange(sign, kNextId) + id;
  return text;
}

bool HasId(const DeviceCount& has, std::string_view id) {
  if (!has.ids.empty()) return std::find(has.ids.begin(), has.ids.end(), id) != has.ids.end();
  const auto number = NumberOf<std::int32_t>(id);
  return number && *number < has.count && std::to_string(*number) == id;
}

// "named 0, 2"
std::string IdsInWords(const std::vector<std::string>& ids) {
  constexpr std::size_t kMost = 4;  // a machine may have a hundred, and a line is short
  std::string text;
  for (std::size_t i = 0; i < std::min(ids.size(), kMost); ++i) {
    text += (i == 0 ? "named " : ", ") + ids[i];
  }
  if (ids.size() > kMost) text += " and " + std::to_string(ids.size() - kMost) + " more";
  return text;
}

bool HasWords(std::string_view text, std::string_view words) {
  const auto is_edge = [text](std::size_t place) {
    return place >= text.size() || !IsLetterOrDigit(text[place]);
  };
  const auto same = [](char a, char b) { return ToLower(a) == ToLower(b); };
  auto from = text.begin();
  while (true) {
    const auto found = std::search(from, text.end(), words.begin(), words.end(), same);
    if (found == text.end()) return false;
    const auto begin = static_cast<std::size_t>(found - text.begin());
    if ((begin == 0 || is_edge(begin - 1)) && is_edge(begin + words.size())) return true;
    from = found + 1;
  }
}

}  // namespace

bool IsDeviceKind(std::string_view text) {
  if (text.empty() || text.size() > limits::kNameBytes || !IsLetterOrDigit(text.front())) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-' || c == '/';
  });
}

bool IsDeviceId(std::string_view text) {
  return !text.empty() && text.size() <= kDeviceIdBytes && IsLetterOrDigit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-' || c == ':';
         });
}

bool IsDeviceModel(std::string_view text) {
  return !text.empty() && text.size() <= kDeviceModelBytes && text.front() != ' ' &&
         text.back() != ' ' && std::all_of(text.begin(), text.end(), [](char c) {
           return c >= ' ' && c < '\x7f' && c != kSpace && c != ',';
         });
}

std::optional<std::int32_t> ParseDeviceVersion(std::string_view text) {
  const auto major = NumberOf<std::int32_t>(CutAt(text, '.'));
  const auto minor = text.empty() ? 0 : NumberOf<std::int32_t>(text);
  if (!major || !minor || *major < 1 || *major >= kMinors || *minor >= kMinors) {
    return std::nullopt;
  }
  return *major * kMinors + *minor;
}

std::string FormatDeviceVersion(std::int32_t version) {
  return std::to_string(version / kMinors) + "." + std::to_string(version % kMinors);
}

bool IsSuch(const DeviceCount& has, const DeviceCount& asked) {
  return has.memory >= asked.memory && has.version >= asked.version &&
         (asked.model.empty() || HasWords(has.model, asked.model)) &&
         std::all_of(asked.ids.begin(), asked.ids.end(),
                     [&has](const std::string& id) { return HasId(has, id); });
}

std::vector<std::string> DeviceIds(const DeviceCount& has) {
  if (!has.ids.empty()) return has.ids;
  std::vector<std::string> ids;
  for (std::int32_t i = 0; i < has.count; ++i) ids.push_back(std::to_string(i));
  return ids;
}

void SetDeviceIds(DeviceCount& has, std::vector<std::string> ids) {
  has.ids.clear();
  if (ids != DeviceIds(has)) has.ids = std::move(ids);
}

std::string FormatDevices(const Devices& devices) {
  std::string text;
  for (const auto& [kind, device] : devices) {
    if (!text.empty()) text += ' ';
    text += kind + "=" + FormatCount(device);
  }
  return text;
}

std::optional<Devices> ParseDevices(std::string_view text) {
  Devices devices;
  while (!text.empty()) {
    std::string_view one = CutAt(text, ' ');
    const std::string_view kind = CutAt(one, '=');
    const auto device = ParseCount(one);
    if (!device || !IsDeviceKind(kind)) return std::nullopt;
    devices[std::string(kind)] = *device;
  }
  return devices;
}

std::string DeviceInWords(const std::string& kind, const DeviceCount& device) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  std::string traits;
  const auto add = [&traits](const std::string& trait) {
    traits += (traits.empty() ? "" : ", ") + trait;
  };
  if (!device.model.empty()) add(device.model);
  if (device.memory > 0) {
    const std::int64_t tenths = device.memory * 10 / kGiB;
    add(std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
        " GiB");
  }
  if (device.version > 0) add("version " + FormatDeviceVersion(device.version));
  if (!device.ids.empty()) add(IdsInWords(device.ids));
  const std::string text = std::to_string(device.count) + " " + kind;
  return traits.empty() ? text : text + " (" + traits + ")";
}

}  // namespace tidemill
