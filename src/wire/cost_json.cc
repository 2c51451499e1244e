// SPDX-License-Identifier: Apache-2.0
#include "wire/cost_json.h"

#include <cmath>
#include <utility>

#include "base/limits.h"
#include "wire/json.h"
#include "wire/one_line.h"
#include "wire/settings_json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;
using std::chrono::milliseconds;

constexpr std::size_t kTimeBytes = 32;
// What is not UTF-8 grows to three bytes on the way.
constexpr std::size_t kWordsBytes = 8192;
// More than a server gives.
constexpr std::size_t kMostPools = 10'000;

// With a fraction of at most three digits.
void AppendCostSeconds(std::string& out, std::string_view field, Duration time) {
  json::AppendValue(out, field, json::Cpus(std::chrono::duration_cast<milliseconds>(time).count()));
}

void AppendDollars(std::string& out, std::string_view field, Money money) {
  json::AppendValue(out, field, DollarsText(money));
}

std::string MachinesText(const MachineCounts& machines) {
  std::string out = "{";
  json::AppendNumber(out, "ordered", machines.ordered);
  json::AppendNumber(out, "booting", machines.booting);
  json::AppendNumber(out, "joined", machines.joined);
  json::AppendNumber(out, "draining", machines.draining);
  return out + "}";
}

std::string ForecastText(const JobForecast& forecast) {
  std::string out = "{";
  AppendCostSeconds(out, "seconds", forecast.time);
  AppendCostSeconds(out, "least", forecast.least);
  AppendCostSeconds(out, "most", forecast.most);
  AppendDollars(out, "cost", forecast.cost);
  AppendDollars(out, "cost_least", forecast.cost_least);
  AppendDollars(out, "cost_most", forecast.cost_most);
  json::AppendNumber(out, "slots", forecast.slots);
  return out + "}";
}

// A number times a million, as a whole one; 0 if it is absent or null.
Result<std::int64_t> ReadScaled(const Fields& fields, std::string_view name) {
  constexpr double kMillion = 1e6;
  constexpr double kMost = 9e18;
  const Value* value = fields.Find(name);
  if (value == nullptr || value->is_null()) return 0;
  if (!value->is_number()) return json::Wrong(fields.In(name), "must be a number");
  const double scaled = value->get<double>() * kMillion;
  if (!(scaled > -kMost && scaled < kMost)) return json::Wrong(fields.In(name), "is too large");
  return std::llround(scaled);
}

Result<Money> ReadDollars(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::int64_t micros, ReadScaled(fields, name));
  return Money{micros};
}

Result<Duration> ReadSeconds(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::int64_t micros, ReadScaled(fields, name));
  return Duration(micros);
}

bool IsThere(const Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  return value != nullptr && !value->is_null();
}

Result<std::optional<std::int64_t>> ReadTimeAt(const Fields& fields, std::string_view name) {
  if (!IsThere(fields, name)) return std::nullopt;
  TIDEMILL_TRY(const std::string_view text, fields.Text(name, {.most_bytes = kTimeBytes}));
  return ParseTime(text);
}

Result<MachineCounts> ReadMachineCounts(const Fields& owner) {
  MachineCounts machines;
  const Value* value = owner.Find("machines_now");
  if (value == nullptr) return machines;
  const Path path = owner.In("machines_now");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY(machines.ordered, fields.Int("ordered", {.absent = 0}));
  TIDEMILL_TRY(machines.booting, fields.Int("booting", {.absent = 0}));
  TIDEMILL_TRY(machines.joined, fields.Int("joined", {.absent = 0}));
  TIDEMILL_TRY(machines.draining, fields.Int("draining", {.absent = 0}));
  return machines;
}

Result<std::optional<JobForecast>> ReadForecast(const Fields& cost) {
  if (!IsThere(cost, "forecast")) return std::nullopt;
  const Path path = cost.In("forecast");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*cost.Find("forecast"), path));
  JobForecast forecast;
  TIDEMILL_TRY(forecast.slots, fields.Int("slots", {.absent = 0}));
  TIDEMILL_TRY(forecast.time, ReadSeconds(fields, "seconds"));
  TIDEMILL_TRY(forecast.least, ReadSeconds(fields, "least"));
  TIDEMILL_TRY(forecast.most, ReadSeconds(fields, "most"));
  TIDEMILL_TRY(forecast.cost, ReadDollars(fields, "cost"));
  TIDEMILL_TRY(forecast.cost_least, ReadDollars(fields, "cost_least"));
  TIDEMILL_TRY(forecast.cost_most, ReadDollars(fields, "cost_most"));
  return std::optional(forecast);
}

Result<PoolNow> ReadNow(const Fields& fields) {
  PoolNow now;
  TIDEMILL_TRY(now.machines, ReadMachineCounts(fields));
  TIDEMILL_TRY(now.needed, fields.Int("needed", {.absent = 0}));
  TIDEMILL_TRY(now.limit, fields.Int("limit", {.absent = 0}));
  TIDEMILL_TRY(now.hold, fields.Text("hold", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(now.words, fields.Text("words", {.most_bytes = kWordsBytes, .absent = ""}));
  TIDEMILL_TRY(now.tried, fields.Int("tried", {.absent = 0}));
  TIDEMILL_TRY(now.again_ms, ReadTimeAt(fields, "again_at"));
  TIDEMILL_TRY(now.never_joined, fields.Int("never_joined", {.absent = 0}));
  return now;
}

}  // namespace

std::string FormatJobCost(const JobCost& cost) {
  std::string out = "{";
  json::AppendText(out, "job", cost.job);
  AppendDollars(out, "spent", cost.spent);
  AppendDollars(out, "lost", cost.lost);
  AppendCostSeconds(out, "machine_seconds", cost.machine_time);
  AppendCostSeconds(out, "lost_seconds", cost.lost_time);
  json::AppendNumber(out, "items_done", cost.items_done);
  if (cost.cost_an_item) AppendDollars(out, "cost_an_item", *cost.cost_an_item);
  if (cost.budget) AppendDollars(out, "budget", *cost.budget);
  if (cost.deadline_ms) json::AppendText(out, "deadline_at", FormatTime(*cost.deadline_ms));
  json::AppendValue(out, "forecast", cost.forecast ? ForecastText(*cost.forecast) : "null");
  json::AppendValue(out, "machines_now", MachinesText(cost.machines));
  json::AppendNumber(out, "machines_working", cost.working);
  return out + "}";
}

Result<JobCost> ParseJobCost(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  JobCost cost;
  TIDEMILL_TRY(cost.job, fields.Text("job", {.most_bytes = 2 * limits::kNameBytes}));
  TIDEMILL_TRY(cost.spent, ReadDollars(fields, "spent"));
  TIDEMILL_TRY(cost.lost, ReadDollars(fields, "lost"));
  TIDEMILL_TRY(cost.machine_time, ReadSeconds(fields, "machine_seconds"));
  TIDEMILL_TRY(cost.lost_time, ReadSeconds(fields, "lost_seconds"));
  TIDEMILL_TRY(cost.items_done, fields.Int("items_done", {.absent = 0}));
  if (IsThere(fields, "cost_an_item")) {
    TIDEMILL_TRY(cost.cost_an_item, ReadDollars(fields, "cost_an_item"));
  }
  if (IsThere(fields, "budget")) {
    TIDEMILL_TRY(cost.budget, ReadDollars(fields, "budget"));
  }
  TIDEMILL_TRY(cost.deadline_ms, ReadTimeAt(fields, "deadline_at"));
  TIDEMILL_TRY(cost.forecast, ReadForecast(fields));
  TIDEMILL_TRY(cost.machines, ReadMachineCounts(fields));
  TIDEMILL_TRY(cost.working, fields.Int("machines_working", {.absent = 0}));
  return cost;
}

std::string FormatCosts(const ProjectCosts& costs) {
  std::string out = "{";
  AppendDollars(out, "total", costs.spent + costs.idle + costs.boot);
  AppendDollars(out, "spent", costs.spent);
  AppendDollars(out, "lost", costs.lost);
  AppendDollars(out, "idle", costs.idle);
  AppendDollars(out, "boot", costs.boot);
  AppendCostSeconds(out, "idle_seconds", costs.idle_time);
  AppendCostSeconds(out, "boot_seconds", costs.boot_time);
  std::string jobs = "[";
  for (const ProjectCosts::OfJob& one : costs.jobs) {
    std::string job = jobs.size() > 1 ? ",{" : "{";
    json::AppendText(job, "job", one.job);
    AppendDollars(job, "spent", one.spent);
    AppendDollars(job, "lost", one.lost);
    AppendCostSeconds(job, "machine_seconds", one.machine_time);
    jobs.append(job).push_back('}');
  }
  json::AppendValue(out, "jobs", jobs + "]");
  return out + "}";
}

std::string FormatPoolNow(const PoolNow& now) {
  std::string out = "{";
  json::AppendValue(out, "machines_now", MachinesText(now.machines));
  json::AppendNumber(out, "needed", now.needed);
  json::AppendNumber(out, "limit", now.limit);
  if (!now.hold.empty()) json::AppendText(out, "hold", now.hold);
  if (!now.words.empty()) json::AppendText(out, "words", OneLine(now.words));
  if (now.tried > 0) json::AppendNumber(out, "tried", now.tried);
  if (now.again_ms) json::AppendText(out, "again_at", FormatTime(*now.again_ms));
  json::AppendNumber(out, "never_joined", now.never_joined);
  return out + "}";
}

Result<std::map<std::string, PoolNow>> ParsePoolsNow(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  std::map<std::string, PoolNow> pools;
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "pools", kMostPools, [&](const Fields& pool) -> Result<void> {
        const Value* now = pool.Find("now");
        if (now == nullptr || now->is_null()) return {};
        TIDEMILL_TRY(const std::string_view name,
                     pool.Text("name", {.most_bytes = limits::kNameBytes}));
        const Path path = pool.In("now");
        TIDEMILL_TRY(const Fields inner, Fields::Of(*now, path));
        TIDEMILL_TRY(pools[std::string(name)], ReadNow(inner));
        return {};
      }));
  return pools;
}

}  // namespace tidemill
