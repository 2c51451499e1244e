// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_needs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/limits.h"
#include "model/retry.h"
#include "wire/device_json.h"
#include "wire/duration.h"
#include "wire/size.h"

namespace tidemill::json {
namespace {

using std::chrono::milliseconds;

constexpr int kDefaultRetries = 3;
constexpr std::int64_t kMaxSpecMillicpus = 1'000'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
constexpr std::int64_t kMaxSpecDevices = 1000;
constexpr std::int64_t kMostExit = 255;
// More attempts than a chunk has items are no canary any more, but the job itself.
constexpr std::int64_t kMostCanary = limits::kItemsPerChunk;

// One size, or where it starts and how far it may go.
Result<void> ReadMemory(const Fields& resources, JobSpec& job) {
  const Value* value = resources.Find("memory");
  if (value == nullptr || !value->is_object()) {
    TIDEMILL_TRY(job.resources.memory_bytes, ReadSize(resources, "memory"));
    return {};
  }
  const Path path = resources.In("memory");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY(job.resources.memory_bytes, ReadSize(fields, "start"));
  TIDEMILL_TRY(job.memory_max, ReadSize(fields, "max"));
  if (job.resources.memory_bytes == 0 || job.memory_max == 0) {
    return Wrong(path, "write both, as in {start: 2GiB, max: 16GiB}, or one size");
  }
  if (job.memory_max < job.resources.memory_bytes) {
    return Wrong(fields.In("max"), "must not be less than 'start'");
  }
  return {};
}

bool IsWholeMachine(const Value& resources) {
  return resources.is_string() && resources.get_ref<const std::string&>() == kWholeMachine;
}

Result<void> ReadResources(const Fields& spec, ParsedSpec& parsed) {
  const Value* value = spec.Find("resources");
  if (value == nullptr) return {};
  Resources& needs = parsed.job.resources;
  if (IsWholeMachine(*value)) {
    needs = {0, 0, {{kWholeMachine, 1}}};
    return {};
  }
  const Path path = spec.In("resources");
  if (value->is_string()) {
    return Wrong(path, "write {cpus: 2, memory: 4GiB}, or the word 'machine' for all of one");
  }
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY(needs.millicpus,
               fields.Millicpus("cpus", {.least = 1, .most = kMaxSpecMillicpus, .absent = 1000}));
  TIDEMILL_TRY_VOID(ReadMemory(fields, parsed.job));
  TIDEMILL_TRY(needs.devices,
               ReadDevices(fields, "devices", {.least = 1, .most = kMaxSpecDevices}));
  for (const auto& [kind, asked] : needs.devices) {
    if (!asked.ids.empty() && asked.count != static_cast<std::int32_t>(asked.ids.size())) {
      return Wrong(fields.In("devices"), kind + " counts fewer than it names");
    }
  }
  const Value* devices = fields.Find("devices");
  if (devices != nullptr && devices->contains(kWholeMachine)) {
    return Wrong(fields.In("devices"), "for all of a machine write 'resources: machine'");
  }
  TIDEMILL_TRY(parsed.run.disk_bytes, ReadSize(fields, "disk"));
  TIDEMILL_TRY(parsed.run.shm_bytes, ReadSize(fields, "shm"));
  return {};
}

Result<std::vector<std::int32_t>> ReadCodes(const Fields& retry, std::string_view name) {
  std::vector<std::int32_t> codes;
  TIDEMILL_TRY(const Value* array, retry.Array(name, kMostExit));
  if (array == nullptr) return codes;
  const Path in_array = retry.In(name);
  if (array->empty()) return Wrong(in_array, "must not be empty; leave it away for no such rule");
  for (const Value& element : *array) {
    const Path path{&in_array, {}, codes.size()};
    TIDEMILL_TRY(const std::int64_t code, IntOf(element, path, {.least = 1, .most = kMostExit}));
    codes.push_back(static_cast<std::int32_t>(code));
  }
  return codes;
}

Result<void> ReadRetry(const Fields& spec, ParsedSpec& parsed) {
  const Value* value = spec.Find("retry");
  if (value == nullptr) return {};
  const Path path = spec.In("retry");
  if (value->is_number()) return Wrong(path, "for how often, write 'retries'");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY(parsed.run.retry_on, ReadCodes(fields, "on"));
  TIDEMILL_TRY(parsed.run.retry_never, ReadCodes(fields, "never"));
  for (const std::int32_t code : parsed.run.retry_never) {
    const auto& on = parsed.run.retry_on;
    if (std::find(on.begin(), on.end(), code) == on.end()) continue;
    return Wrong(fields.In("never"),
                 "the exit code " + std::to_string(code) + " stands in 'on' too; remove one");
  }
  const TimeBounds bounds{milliseconds(0),
                          std::chrono::duration_cast<milliseconds>(kLongestRetryWait),
                          JobSpec().retry_wait, "from 0 to 5 minutes"};
  TIDEMILL_TRY(parsed.job.retry_wait, ReadTime(fields, "wait", bounds));
  return {};
}

Result<int> ReadCanary(const Fields& spec) {
  const Value* value = spec.Find("canary");
  if (value == nullptr) return JobSpec().canary;
  if (value->is_boolean()) {
    if (!value->get<bool>()) return 0;
    return Wrong(spec.In("canary"), "write how many attempts, such as 20; false for none");
  }
  TIDEMILL_TRY(const std::int64_t canary, spec.Int("canary", {.most = kMostCanary}));
  return static_cast<int>(canary);
}

Result<void> CheckInner(const Fields& fields, std::string_view name,
                        std::initializer_list<std::string_view> known) {
  const Value* value = fields.Find(name);
  if (value == nullptr || !value->is_object()) return {};
  const Path path = fields.In(name);
  TIDEMILL_TRY(const Fields inner, Fields::Of(*value, path));
  return inner.Only(known);
}

}  // namespace

Result<std::int64_t> ReadSize(const Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  if (value == nullptr || !value->is_string()) {
    return fields.Int(name, {.least = 0, .most = kMostBytes, .absent = 0});
  }
  const auto bytes = ParseSize(value->get_ref<const std::string&>());
  if (!bytes) return Wrong(fields.In(name), "must be a size such as \"4GiB\"");
  return *bytes;
}

Result<milliseconds> ReadTime(const Fields& fields, std::string_view name,
                              const TimeBounds& bounds) {
  const Value* value = fields.Find(name);
  if (value == nullptr) return bounds.absent;
  std::optional<milliseconds> time;
  if (value->is_string()) {
    time = ParseDuration(value->get_ref<const std::string&>());
  } else if (value->is_number()) {
    const double ms = value->get<double>() * 1000;
    // Past every bound is as good as just past it, and fits.
    const double most = static_cast<double>(bounds.most.count()) + 1;
    time = milliseconds(std::llround(std::clamp(ms, -1.0, most)));
  }
  if (!time) {
    return Wrong(fields.In(name),
                 "must be a time such as \"30m\", \"1h30m\" or \"500ms\", or a number of seconds");
  }
  if (*time < bounds.least || *time > bounds.most) {
    return Wrong(fields.In(name), "must be " + std::string(bounds.range));
  }
  return *time;
}

Result<void> ReadNeeds(const Fields& spec, ParsedSpec& parsed) {
  TIDEMILL_TRY_VOID(ReadResources(spec, parsed));
  TIDEMILL_TRY(
      const std::int64_t retries,
      spec.Int("retries", {.least = 0, .most = limits::kMaxRetries, .absent = kDefaultRetries}));
  parsed.job.retries = static_cast<int>(retries);
  TIDEMILL_TRY_VOID(ReadRetry(spec, parsed));
  TIDEMILL_TRY(parsed.job.canary, ReadCanary(spec));
  return {};
}

Result<void> CheckNeeds(const Fields& spec) {
  TIDEMILL_TRY_VOID(CheckInner(spec, "resources", {"cpus", "memory", "disk", "shm", "devices"}));
  TIDEMILL_TRY_VOID(CheckInner(spec, "retry", {"on", "never", "wait"}));
  const Value* resources = spec.Find("resources");
  if (resources == nullptr || !resources->is_object()) return {};
  const Path path = spec.In("resources");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*resources, path));
  return CheckInner(fields, "memory", {"start", "max"});
}

}  // namespace tidemill::json
