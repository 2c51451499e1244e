// SPDX-License-Identifier: Apache-2.0
#include "wire/status_json.h"

#include <algorithm>

#include "base/limits.h"

namespace tidemill::json {

std::string ResourcesText(const Resources& resources) {
  std::string out = "{\"cpus\":" + Cpus(resources.millicpus);
  AppendNumber(out, "memory", resources.memory_bytes);
  return out.append("}");
}

Result<Resources> ReadResources(const Fields& fields, std::string_view name) {
  const Path path = fields.In(name);
  const Value* value = fields.Find(name);
  if (value == nullptr) return Wrong(path, "is missing");
  TIDEMILL_TRY(const Fields inner, Fields::Of(*value, path));
  Resources resources;
  TIDEMILL_TRY(resources.millicpus, inner.Millicpus("cpus", {.least = 0, .most = kMostMillicpus}));
  TIDEMILL_TRY(resources.memory_bytes, inner.Int("memory", {.least = 0, .most = kMostMemory}));
  return resources;
}

std::string ReasonText(std::string_view reason) {
  // Made UTF-8 first, because that can make it longer.
  const auto whole = Value::parse(Quoted(reason)).get<std::string>();
  std::string text = whole.substr(0, limits::kReasonBytes);
  // A letter of several bytes is not cut in two.
  if (text.size() < whole.size()) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) {
      text.pop_back();
    }
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.pop_back();
  }
  for (char& c : text) {
    if ((c >= 0 && c < 0x20) || c == 0x7f) c = ' ';
  }
  return text.empty() ? "no reason given" : text;
}

std::string StatusText(const MachineStatus& status) {
  std::string out = "{";
  if (!status.engine.empty()) AppendText(out, "engine", ReasonText(status.engine));
  AppendFlag(out, "enforces", status.enforces);
  out.append(",\"jobs\":[");
  const std::size_t jobs = std::min(status.jobs.size(), limits::kJobsPerStatus);
  for (std::size_t i = 0; i < jobs; ++i) {
    const JobUse& use = status.jobs[i];
    out.append(i == 0 ? "{" : ",{");
    AppendNumber(out, "job", use.job.number);
    AppendNumber(out, "running", use.running);
    AppendValue(out, "cpus", Cpus(use.millicpus));
    AppendNumber(out, "memory", use.memory_bytes);
    if (!use.trouble.empty()) AppendText(out, "trouble", ReasonText(use.trouble));
    out.push_back('}');
  }
  return out.append("]}");
}

Result<std::optional<MachineStatus>> ReadStatus(const Fields& fields) {
  const Value* value = fields.Find("status");
  if (value == nullptr) return std::nullopt;
  const Path path = fields.In("status");
  TIDEMILL_TRY(const Fields inner, Fields::Of(*value, path));
  MachineStatus status;
  TIDEMILL_TRY(status.engine,
               inner.Text("engine", {.most_bytes = limits::kReasonBytes, .absent = ""}));
  TIDEMILL_TRY(status.enforces, inner.Flag("enforces", false));
  TIDEMILL_TRY_VOID(
      ReadEach(inner, "jobs", limits::kJobsPerStatus, [&](const Fields& element) -> Result<void> {
        JobUse use;
        TIDEMILL_TRY(use.job.number, element.Int("job", {.least = 1}));
        TIDEMILL_TRY(const std::int64_t running,
                     element.Int("running", {.least = 0, .most = limits::kItemsPerJob}));
        use.running = static_cast<int>(running);
        TIDEMILL_TRY(use.millicpus,
                     element.Millicpus("cpus", {.least = 0, .most = kMostMillicpus, .absent = 0}));
        TIDEMILL_TRY(use.memory_bytes,
                     element.Int("memory", {.least = 0, .most = kMostMemory, .absent = 0}));
        TIDEMILL_TRY(use.trouble,
                     element.Text("trouble", {.most_bytes = limits::kReasonBytes, .absent = ""}));
        status.jobs.push_back(std::move(use));
        return {};
      }));
  return std::optional(std::move(status));
}

}  // namespace tidemill::json
