// SPDX-License-Identifier: Apache-2.0
#include "wire/why_json.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "wire/json.h"
#include "wire/one_line.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

// More than there are kinds of reasons for each pool of a queue.
constexpr std::size_t kReasons = 1000;
// What is not UTF-8 grows to three bytes on the way.
constexpr std::size_t kSentenceBytes = 8192;
// A pool's name and a machine's, with what stands between them.
constexpr std::size_t kMachineBytes = limits::kNameBytes + 1 + limits::kMachineNameBytes;

void AppendReasons(std::string& out, const std::vector<WhyReason>& reasons) {
  std::string list = "[";
  for (const WhyReason& reason : reasons) {
    if (list.size() > 1) list.push_back(',');
    std::string one = "{";
    json::AppendText(one, "code", reason.code);
    if (!reason.pool.empty()) json::AppendText(one, "pool", reason.pool);
    json::AppendText(one, "sentence", OneLine(reason.sentence));
    std::string numbers = "{";
    for (const auto& [name, number] : reason.numbers) json::AppendNumber(numbers, name, number);
    json::AppendValue(one, "numbers", numbers + "}");
    list.append(one).push_back('}');
  }
  json::AppendValue(out, "reasons", list + "]");
}

Result<std::map<std::string, std::int64_t>> ReadNumbers(const Fields& reason) {
  std::map<std::string, std::int64_t> numbers;
  const Value* value = reason.Find("numbers");
  if (value == nullptr) return numbers;
  const json::Path path = reason.In("numbers");
  TIDEMILL_TRY_VOID(Fields::Of(*value, path));
  for (const auto& [name, number] : value->get_ref<const Value::object_t&>()) {
    TIDEMILL_TRY(numbers[name], json::IntOf(number, json::Path{&path, name, 0},
                                            {.least = std::numeric_limits<std::int64_t>::min()}));
  }
  return numbers;
}

Result<std::vector<WhyReason>> ReadReasons(const Fields& fields) {
  std::vector<WhyReason> reasons;
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "reasons", kReasons, [&](const Fields& one) -> Result<void> {
        WhyReason& reason = reasons.emplace_back();
        TIDEMILL_TRY(reason.code, one.Text("code", {.most_bytes = limits::kNameBytes}));
        TIDEMILL_TRY(reason.pool,
                     one.Text("pool", {.most_bytes = limits::kNameBytes, .absent = ""}));
        TIDEMILL_TRY(reason.sentence,
                     one.Text("sentence", {.most_bytes = kSentenceBytes, .absent = ""}));
        TIDEMILL_TRY(reason.numbers, ReadNumbers(one));
        return {};
      }));
  return reasons;
}

}  // namespace

std::string FormatJobWhy(const JobWhy& why) {
  std::string out = "{";
  json::AppendText(out, "job", why.job);
  json::AppendNumber(out, "running", why.running);
  json::AppendNumber(out, "could_run", why.could_run);
  AppendReasons(out, why.reasons);
  return out + "}";
}

Result<JobWhy> ParseJobWhy(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  JobWhy why;
  TIDEMILL_TRY(why.job, fields.Text("job", {.most_bytes = 2 * limits::kNameBytes}));
  TIDEMILL_TRY(why.running, fields.Int("running", {.absent = 0}));
  TIDEMILL_TRY(why.could_run, fields.Int("could_run", {.absent = 0}));
  TIDEMILL_TRY(why.reasons, ReadReasons(fields));
  return why;
}

std::string FormatMachineWhy(const MachineWhy& why) {
  std::string out = "{";
  json::AppendText(out, "machine", why.machine);
  json::AppendText(out, "pool", why.pool);
  json::AppendText(out, "state", why.state);
  json::AppendNumber(out, "running", why.running);
  AppendReasons(out, why.reasons);
  return out + "}";
}

Result<MachineWhy> ParseMachineWhy(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  MachineWhy why;
  TIDEMILL_TRY(why.machine, fields.Text("machine", {.most_bytes = kMachineBytes}));
  TIDEMILL_TRY(why.pool, fields.Text("pool", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(why.state, fields.Text("state", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(why.running, fields.Int("running", {.absent = 0}));
  TIDEMILL_TRY(why.reasons, ReadReasons(fields));
  return why;
}

}  // namespace tidemill
