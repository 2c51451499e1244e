// SPDX-License-Identifier: Apache-2.0
#include "wire/rehearsal_json.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "wire/json.h"
#include "wire/settings_json.h"

namespace tidemill {
namespace {

double Seconds(Duration time) { return static_cast<double>(time.count()) / 1e6; }

// With a fraction of at most three digits.
std::string Thousandths(double value) { return json::Cpus(std::llround(value * 1000)); }

void AppendThousandths(std::string& out, std::string_view field, Duration time) {
  json::AppendValue(out, field, Thousandths(Seconds(time)));
}

void AppendBill(std::string& out, std::string_view field, const MachineBill& bill) {
  std::string text = "{";
  AppendThousandths(text, "machine_seconds", bill.time);
  json::AppendValue(text, "cost", DollarsText(bill.cost));
  json::AppendValue(out, field, text + "}");
}

void AppendRange(std::string& out, std::string_view field, const Range& range) {
  std::string text = "{";
  json::AppendValue(text, "least", Thousandths(range.least));
  json::AppendValue(text, "median", Thousandths(range.median));
  json::AppendValue(text, "most", Thousandths(range.most));
  json::AppendValue(out, field, text + "}");
}

std::string MomentsText(const std::vector<Rehearsed::Moment>& moments) {
  std::string out = "[";
  for (const Rehearsed::Moment& moment : moments) {
    std::string text = "{";
    AppendThousandths(text, "seconds", moment.at);
    json::AppendNumber(text, "machines", moment.machines);
    json::AppendNumber(text, "joined", moment.joined);
    json::AppendNumber(text, "done", moment.done);
    out += (out.size() > 1 ? "," : "") + text + "}";
  }
  return out + "]";
}

std::string RunText(const Rehearsed& run) {
  std::string out = "{";
  json::AppendNumber(out, "seed", static_cast<std::int64_t>(run.seed));
  json::AppendNumber(out, "succeeded", run.succeeded);
  json::AppendNumber(out, "failed", run.failed);
  AppendThousandths(out, "seconds", run.time);
  json::AppendValue(out, "cost", DollarsText(run.cost()));
  AppendBill(out, "work", run.work);
  AppendBill(out, "lost", run.lost);
  AppendBill(out, "idle", run.idle);
  AppendBill(out, "boot", run.boot);
  AppendThousandths(out, "useful_machine_seconds", run.useful);
  AppendThousandths(out, "joined_machine_seconds", run.joined_time());
  json::AppendValue(out, "useful", Thousandths(run.useful_part()));
  json::AppendNumber(out, "machines", run.machines);
  json::AppendNumber(out, "most_machines", run.most_machines);
  json::AppendNumber(out, "interruptions", run.interruptions);
  json::AppendNumber(out, "slots", run.slots);
  AppendThousandths(out, "ideal_seconds", run.ideal);
  AppendThousandths(out, "bound_seconds", run.bound);
  json::AppendValue(out, "over_time", MomentsText(run.moments));
  return out + "}";
}

}  // namespace

double Rehearsed::useful_part() const {
  return joined_time() > Duration::zero() ? Seconds(useful) / Seconds(joined_time()) : 0;
}

double Rehearsed::times_ideal() const {
  return ideal > Duration::zero() ? Seconds(time) / Seconds(ideal) : 0;
}

Range RangeOf(const std::vector<Rehearsed>& runs,
              const std::function<double(const Rehearsed&)>& value) {
  std::vector<double> values;
  for (const Rehearsed& run : runs) values.push_back(value(run));
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

Result<std::string> PlayedSpec(std::string_view document) {
  TIDEMILL_TRY(const json::Value spec, json::Parse(document));
  json::Value played = json::Value::object();
  for (const char* field : {"resources", "retries", "retry", "canary", "timeout", "grace"}) {
    if (spec.contains(field)) played[field] = spec[field];
  }
  return played.dump();
}

std::string FormatRehearsals(const std::vector<Rehearsed>& runs) {
  std::string out = "{";
  AppendRange(out, "seconds",
              RangeOf(runs, [](const Rehearsed& run) { return Seconds(run.time); }));
  AppendRange(out, "cost", RangeOf(runs, [](const Rehearsed& run) {
                return static_cast<double>(run.cost().micros) / 1e6;
              }));
  AppendRange(out, "useful", RangeOf(runs, [](const Rehearsed& run) { return run.useful_part(); }));
  std::string all = "[";
  for (const Rehearsed& run : runs) all += (all.size() > 1 ? "," : "") + RunText(run);
  json::AppendValue(out, "runs", all + "]");
  return out + "}";
}

}  // namespace tidemill
