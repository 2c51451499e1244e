// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_wishes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/limits.h"
#include "wire/duration.h"
#include "wire/pool_machines.h"
#include "wire/spec_needs.h"

namespace tidemill::json {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMostPriority = 1000;
constexpr std::int64_t kDollar = 1'000'000;
// Larger than any budget: what is beyond is a slip.
constexpr std::int64_t kMostBudget = 1'000'000'000;

Result<std::string> ReadQueueName(const Fields& spec) {
  TIDEMILL_TRY(const std::string_view name,
               spec.Text("queue", {.most_bytes = limits::kNameBytes, .absent = ""}));
  const bool is_absent = spec.Find("queue") == nullptr;
  if (is_absent || IsName(name)) return std::string(name);
  return Wrong(spec.In("queue"),
               "must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
}

// "20", "20.5", "0.000001": whole millionths, exactly.
std::optional<Money> ParseDollars(std::string_view text) {
  constexpr std::size_t kDecimals = 6;
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view rest = dot == text.npos ? "" : text.substr(dot + 1);
  const bool is_long = whole.size() > std::to_string(kMostBudget).size() || rest.size() > kDecimals;
  if (whole.empty() || is_long || (dot != text.npos && rest.empty())) return std::nullopt;
  std::string digits(whole);
  digits.append(rest).append(kDecimals - rest.size(), '0');
  std::int64_t micros = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    micros = micros * 10 + (c - '0');
  }
  return Money{micros};
}

Result<std::optional<Money>> ReadBudget(const Fields& spec) {
  const Value* value = spec.Find("budget");
  if (value == nullptr) return std::nullopt;
  std::optional<Money> budget;
  if (value->is_string()) {
    budget = ParseDollars(value->get_ref<const std::string&>());
  } else if (value->is_number()) {
    const double micros = value->get<double>() * static_cast<double>(kDollar);
    // Past the bounds is as good as just past them, and fits.
    const double most = static_cast<double>(kMostBudget * kDollar) + 1;
    budget = Money{std::llround(std::clamp(micros, 0.0, most))};
  }
  if (!budget) return Wrong(spec.In("budget"), "must be dollars, such as 20 or \"20.50\"");
  if (budget->micros < 1 || budget->micros > kMostBudget * kDollar) {
    return Wrong(spec.In("budget"), "must be more than 0 and at most 1000000000 dollars");
  }
  return budget;
}

Result<std::optional<milliseconds>> ReadDeadline(const Fields& spec) {
  if (spec.Find("deadline") == nullptr) return std::nullopt;
  constexpr TimeBounds kDeadline{milliseconds(1000), kMostDuration, milliseconds(0),
                                 "from 1 second to 366 days; leave it away for none"};
  TIDEMILL_TRY(const milliseconds deadline, ReadTime(spec, "deadline", kDeadline));
  return deadline;
}

Result<std::string> JobTextOf(const Value& value, const Path& path) {
  std::string text;
  if (value.is_string()) text = value.get_ref<const std::string&>();
  if (value.is_number_integer()) text = value.dump();
  const auto job = ParsePublicId(text);
  const bool is_job = job && job->name.size() <= limits::kNameBytes &&
                      job->id.number < std::numeric_limits<std::int64_t>::max();
  if (!is_job) return Wrong(path, "must be a job, as render-7, or its number");
  return text;
}

Result<void> ReadAfter(const Fields& spec, ParsedSpec& parsed) {
  TIDEMILL_TRY(const Value* array, spec.Array("after", kAfterJobs));
  if (array == nullptr) return {};
  const Path in_array = spec.In("after");
  auto& jobs = parsed.job.wishes.after;
  for (const Value& element : *array) {
    const Path path{&in_array, {}, jobs.size()};
    TIDEMILL_TRY(std::string text, JobTextOf(element, path));
    const JobId job = ParsePublicId(text)->id;
    if (std::find(jobs.begin(), jobs.end(), job) != jobs.end()) {
      return Wrong(path, "job " + std::to_string(job.number) + " is named before; name it once");
    }
    jobs.push_back(job);
    parsed.after.push_back(std::move(text));
  }
  return {};
}

}  // namespace

Result<void> ReadWishes(const Fields& spec, ParsedSpec& parsed) {
  JobWishes& wishes = parsed.job.wishes;
  TIDEMILL_TRY(wishes.queue, ReadQueueName(spec));
  TIDEMILL_TRY(const std::int64_t priority,
               spec.Int("priority", {.least = -kMostPriority, .most = kMostPriority, .absent = 0}));
  wishes.priority = static_cast<std::int32_t>(priority);
  TIDEMILL_TRY(wishes.deadline, ReadDeadline(spec));
  TIDEMILL_TRY(wishes.budget, ReadBudget(spec));
  if (spec.Find("max_parallel") != nullptr) {
    TIDEMILL_TRY(wishes.max_parallel,
                 spec.Int("max_parallel", {.least = 1, .most = limits::kItemsPerJob}));
  }
  TIDEMILL_TRY(wishes.labels, ReadLabels(spec));
  return ReadAfter(spec, parsed);
}

}  // namespace tidemill::json
