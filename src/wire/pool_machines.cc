// SPDX-License-Identifier: Apache-2.0
#include "wire/pool_machines.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/limits.h"
#include "wire/device_json.h"
#include "wire/duration.h"
#include "wire/spec_needs.h"

namespace tidemill::json {
namespace {

using std::chrono::milliseconds;

// Larger than any price: what is beyond is a slip.
constexpr double kMostDollars = 1e6;
constexpr std::int64_t kMaxPoolMillicpus = 1'000'000'000;
constexpr std::int64_t kMaxPoolDevices = 1000;
constexpr std::int64_t kMostPercent = 1000;
constexpr std::size_t kLabels = 64;
constexpr std::size_t kLabelBytes = 256;
constexpr std::size_t kSteps = 64;
constexpr std::size_t kProviderOptionBytes = 16 * 1024;

std::int64_t Micros(milliseconds time) { return time.count() * 1000; }

Result<Money> ReadMoney(const Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  if (value == nullptr) return Money{};
  return MoneyOf(*value, fields.In(name));
}

Result<std::string> ReadProvider(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view name,
               fields.Text("provider", {.most_bytes = limits::kNameBytes, .absent = ""}));
  const bool known = name.empty() || name == "local" || name == "aws" || name == "gcp";
  if (known) return std::string(name);
  return Wrong(fields.In("provider"),
               "must be local, aws or gcp; leave it away if machines come by themselves");
}

Result<Resources> ReadShape(const Fields& machines) {
  Resources shape{.millicpus = 0};
  const Value* value = machines.Find("shape");
  if (value == nullptr) return shape;
  const Path path = machines.In("shape");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(fields.Only({"cpus", "memory", "devices"}));
  TIDEMILL_TRY(shape.millicpus,
               fields.Millicpus("cpus", {.least = 0, .most = kMaxPoolMillicpus, .absent = 0}));
  TIDEMILL_TRY(shape.memory_bytes, ReadSize(fields, "memory"));
  TIDEMILL_TRY(shape.devices,
               ReadDevices(fields, "devices", {.least = 1, .most = kMaxPoolDevices}));
  if (WantsWholeMachine(shape)) {
    return Wrong(fields.In("devices"), "write how many of each kind a machine has");
  }
  return shape;
}

Result<SizeUnit> ReadUnit(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view name,
               fields.Text("unit", {.most_bytes = 16, .absent = "machines"}));
  const auto unit = ParseSizeUnit(name);
  if (!unit) return Wrong(fields.In("unit"), "must be machines or vcpus");
  return *unit;
}

Result<std::optional<std::int32_t>> ReadMaxPrice(const Fields& fields) {
  if (fields.Find("max_price") == nullptr) return std::nullopt;
  TIDEMILL_TRY(const std::int64_t percent,
               fields.Int("max_price", {.least = 1, .most = kMostPercent}));
  return static_cast<std::int32_t>(percent);
}

bool IsLabelName(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/';
  };
  return !name.empty() && name.size() <= limits::kNameBytes &&
         std::all_of(name.begin(), name.end(), is_good);
}

Result<Steps> ReadSteps(const Fields& machines) {
  Steps steps;
  const Value* value = machines.Find("steps");
  if (value == nullptr) return steps;
  const Path path = machines.In("steps");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  if (value->size() > kSteps) return Wrong(path, "has more than 64 steps");
  for (const auto& entry : value->items()) {
    const std::string& key = entry.key();
    std::int64_t items = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), items);
    if (error != std::errc{} || end != key.data() + key.size() || items < 1 || items > kMostItems) {
      return Wrong(path, "write numbers of items and of machines, as in {1: 1, 101: 2}");
    }
    TIDEMILL_TRY(steps[items], fields.Int(key, {.most = kMostMachines}));
  }
  return steps;
}

Result<std::string> ReadOptions(const Fields& machines) {
  const Value* value = machines.Find("options");
  if (value == nullptr) return std::string();
  const Path path = machines.In("options");
  TIDEMILL_TRY_VOID(Fields::Of(*value, path));
  if (value->empty()) return std::string();
  std::string text = value->dump();
  if (text.size() > kProviderOptionBytes) return Wrong(path, "is more than 16384 bytes");
  return text;
}

Result<void> CheckMachines(const PoolMachines& machines, const Fields& fields) {
  if (machines.min > machines.max) return Wrong(fields.In("min"), "must not be more than 'max'");
  if (machines.provider.empty()) return {};
  const bool has_shape = machines.shape.millicpus > 0 && machines.shape.memory_bytes > 0;
  if (has_shape) return {};
  return Wrong(fields.In("shape"),
               "write what a machine has, as in {cpus: 4, memory: 16GiB}: it is ordered by that");
}

std::string ShapeText(const Resources& shape) {
  std::string out = "{";
  AppendValue(out, "cpus", Cpus(shape.millicpus));
  AppendNumber(out, "memory", shape.memory_bytes);
  AppendValue(out, "devices", DevicesText(shape.devices));
  return out + "}";
}

// Seconds, as a number that may have a fraction.
std::string SecondsText(Duration time) {
  return Cpus(std::chrono::duration_cast<milliseconds>(time).count());
}

}  // namespace

Result<Money> MoneyOf(const Value& value, const Path& path) {
  if (!value.is_number()) return Wrong(path, "must be dollars an hour, such as 0.34");
  const double dollars = value.get<double>();
  if (!(dollars >= 0 && dollars <= kMostDollars)) {
    return Wrong(path, "must be from 0 to 1000000 dollars an hour");
  }
  return Money{std::llround(dollars * 1e6)};
}

Result<Labels> ReadLabels(const Fields& owner) {
  Labels labels;
  const Value* value = owner.Find("labels");
  if (value == nullptr) return labels;
  const Path path = owner.In("labels");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  if (value->size() > kLabels) return Wrong(path, "has more than 64 names");
  for (const auto& entry : value->items()) {
    if (!IsLabelName(entry.key())) {
      return Wrong(path, Quoted(entry.key().substr(0, limits::kNameBytes)) +
                             " is no name here; they are letters, digits, '.', '_', '-' and '/'");
    }
    // With a value for its absence a text may be empty.
    TIDEMILL_TRY(labels[entry.key()],
                 fields.Text(entry.key(), {.most_bytes = kLabelBytes, .absent = ""}));
  }
  return labels;
}

std::string LabelsText(const Labels& labels) {
  std::string out = "{";
  for (const auto& [name, label] : labels) AppendText(out, name, label);
  return out + "}";
}

Result<PoolMachines> ReadMachines(const Fields& fields) {
  constexpr TimeBounds kIdle{milliseconds(0), kMostDuration, milliseconds(300'000),
                             "from 0 to 366 days"};
  constexpr TimeBounds kBoot{milliseconds(1000), std::chrono::hours(24), milliseconds(600'000),
                             "from 1 second to 1 day"};
  constexpr TimeBounds kBilled{milliseconds(0), std::chrono::hours(24), milliseconds(60'000),
                               "from 0 to 1 day"};
  PoolMachines machines;
  TIDEMILL_TRY(machines.provider, ReadProvider(fields));
  TIDEMILL_TRY(machines.shape, ReadShape(fields));
  TIDEMILL_TRY(machines.spot, fields.Flag("spot", false));
  TIDEMILL_TRY(machines.price, ReadMoney(fields, "price"));
  TIDEMILL_TRY(machines.on_demand, ReadMoney(fields, "on_demand"));
  TIDEMILL_TRY(machines.min, fields.Int("min", {.most = kMostMachines, .absent = 0}));
  TIDEMILL_TRY(machines.max, fields.Int("max", {.most = kMostMachines, .absent = 0}));
  TIDEMILL_TRY(machines.unit, ReadUnit(fields));
  TIDEMILL_TRY(machines.max_price, ReadMaxPrice(fields));
  TIDEMILL_TRY(const milliseconds idle, ReadTime(fields, "idle", kIdle));
  machines.idle = Duration(Micros(idle));
  TIDEMILL_TRY(const milliseconds boot, ReadTime(fields, "boot_limit", kBoot));
  machines.boot_limit = Duration(Micros(boot));
  TIDEMILL_TRY(const milliseconds billed, ReadTime(fields, "billed_at_least", kBilled));
  machines.billed_at_least = Duration(Micros(billed));
  TIDEMILL_TRY(machines.labels, ReadLabels(fields));
  TIDEMILL_TRY(machines.steps, ReadSteps(fields));
  TIDEMILL_TRY(machines.disabled, fields.Flag("disabled", false));
  TIDEMILL_TRY(machines.options, ReadOptions(fields));
  TIDEMILL_TRY_VOID(CheckMachines(machines, fields));
  return machines;
}

std::string MachinesText(const PoolMachines& machines) {
  std::string out = "{";
  if (!machines.provider.empty()) AppendText(out, "provider", machines.provider);
  AppendValue(out, "shape", ShapeText(machines.shape));
  AppendFlag(out, "spot", machines.spot);
  AppendValue(out, "price", DollarsText(machines.price));
  AppendValue(out, "on_demand", DollarsText(machines.on_demand));
  AppendNumber(out, "min", machines.min);
  AppendNumber(out, "max", machines.max);
  AppendText(out, "unit", SizeUnitName(machines.unit));
  if (machines.max_price) AppendNumber(out, "max_price", *machines.max_price);
  AppendValue(out, "idle", SecondsText(machines.idle));
  AppendValue(out, "boot_limit", SecondsText(machines.boot_limit));
  AppendValue(out, "billed_at_least", SecondsText(machines.billed_at_least));
  AppendValue(out, "labels", LabelsText(machines.labels));
  std::string steps = "{";
  for (const auto& [items, count] : machines.steps) {
    AppendNumber(steps, std::to_string(items), count);
  }
  AppendValue(out, "steps", steps + "}");
  AppendFlag(out, "disabled", machines.disabled);
  if (!machines.options.empty()) AppendValue(out, "options", machines.options);
  return out + "}";
}

}  // namespace tidemill::json
