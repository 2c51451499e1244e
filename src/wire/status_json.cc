// SPDX-License-Identifier: Apache-2.0
#include "wire/status_json.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "wire/device_json.h"

namespace tidemill::json {

namespace {

// More of one kind than any machine has; sums of such numbers fit.
constexpr std::int64_t kMaxStatusDevices = 1'000'000;

// What may be sent of a text that comes from whatever runs there: valid, on one line, so long at
// most.
std::string CleanText(std::string_view text, std::size_t most) {
  // Made UTF-8 first, because that can make it longer.
  const auto whole = Value::parse(Quoted(text)).get<std::string>();
  std::string clean = whole.substr(0, most);
  // A letter of several bytes is not cut in two.
  if (clean.size() < whole.size()) {
    while (!clean.empty() && (static_cast<unsigned char>(clean.back()) & 0xc0) == 0x80) {
      clean.pop_back();
    }
    if (!clean.empty() && static_cast<unsigned char>(clean.back()) >= 0xc0) clean.pop_back();
  }
  for (char& c : clean) {
    if ((c >= 0 && c < 0x20) || c == 0x7f) c = ' ';
  }
  return clean;
}

std::string ProgressText(const std::vector<ItemProgress>& progress) {
  std::string out = "[";
  const std::size_t count = std::min(progress.size(), limits::kProgressPerJob);
  for (std::size_t i = 0; i < count; ++i) {
    const ItemProgress& one = progress[i];
    out.append(i == 0 ? "{" : ",{");
    AppendNumber(out, "item", one.item);
    AppendNumber(out, "permille", std::clamp(one.permille, 0, 1000));
    const std::string note = CleanText(one.note, limits::kNoteBytes);
    if (!note.empty()) AppendText(out, "note", note);
    out.push_back('}');
  }
  return out.append("]");
}

Result<ItemProgress> ReadProgress(const Fields& fields) {
  ItemProgress progress;
  TIDEMILL_TRY(progress.item, fields.Int("item", {.most = limits::kItemsPerJob - 1}));
  TIDEMILL_TRY(const std::int64_t permille, fields.Int("permille", {.most = 1000, .absent = 0}));
  progress.permille = static_cast<std::int32_t>(permille);
  TIDEMILL_TRY(progress.note,
               fields.Text("note", {.most_bytes = limits::kNoteBytes, .absent = ""}));
  return progress;
}

std::string UseText(const JobUse& use) {
  std::string out = "{";
  AppendNumber(out, "job", use.job.number);
  AppendNumber(out, "running", use.running);
  AppendValue(out, "cpus", Cpus(use.millicpus));
  AppendNumber(out, "memory", use.memory_bytes);
  if (!use.trouble.empty()) AppendText(out, "trouble", ReasonText(use.trouble));
  if (!use.waits_for.empty()) AppendText(out, "waits_for", ReasonText(use.waits_for));
  if (!use.progress.empty()) AppendValue(out, "progress", ProgressText(use.progress));
  return out.append("}");
}

Result<JobUse> ReadUse(const Fields& fields) {
  JobUse use;
  TIDEMILL_TRY(use.job.number, fields.Int("job", {.least = 1}));
  TIDEMILL_TRY(const std::int64_t running,
               fields.Int("running", {.least = 0, .most = limits::kItemsPerJob}));
  use.running = static_cast<int>(running);
  TIDEMILL_TRY(use.millicpus,
               fields.Millicpus("cpus", {.least = 0, .most = kMostMillicpus, .absent = 0}));
  TIDEMILL_TRY(use.memory_bytes,
               fields.Int("memory", {.least = 0, .most = kMostMemory, .absent = 0}));
  TIDEMILL_TRY(use.trouble,
               fields.Text("trouble", {.most_bytes = limits::kReasonBytes, .absent = ""}));
  TIDEMILL_TRY(use.waits_for,
               fields.Text("waits_for", {.most_bytes = limits::kReasonBytes, .absent = ""}));
  TIDEMILL_TRY_VOID(ReadEach(fields, "progress", limits::kProgressPerJob,
                             [&](const Fields& element) -> Result<void> {
                               TIDEMILL_TRY(ItemProgress one, ReadProgress(element));
                               use.progress.push_back(std::move(one));
                               return {};
                             }));
  return use;
}

}  // namespace

std::string ResourcesText(const Resources& resources) {
  std::string out = "{\"cpus\":" + Cpus(resources.millicpus);
  AppendNumber(out, "memory", resources.memory_bytes);
  if (!resources.devices.empty()) AppendValue(out, "devices", DevicesText(resources.devices));
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
  TIDEMILL_TRY(resources.devices,
               ReadDevices(inner, "devices", {.least = 0, .most = kMaxStatusDevices}));
  return resources;
}

std::string ReasonText(std::string_view reason) {
  const std::string text = CleanText(reason, limits::kReasonBytes);
  return text.empty() ? "no reason given" : text;
}

std::string StatusText(const MachineStatus& status) {
  std::string out = "{";
  if (!status.engine.empty()) AppendText(out, "engine", ReasonText(status.engine));
  AppendFlag(out, "enforces", status.enforces);
  if (!status.type.empty()) AppendText(out, "type", CleanText(status.type, limits::kNameBytes));
  if (!status.zone.empty()) AppendText(out, "zone", CleanText(status.zone, limits::kNameBytes));
  if (status.spot) AppendFlag(out, "spot", true);
  out.append(",\"jobs\":[");
  const std::size_t jobs = std::min(status.jobs.size(), limits::kJobsPerStatus);
  for (std::size_t i = 0; i < jobs; ++i) {
    if (i > 0) out.push_back(',');
    out.append(UseText(status.jobs[i]));
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
  TIDEMILL_TRY(status.type, inner.Text("type", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(status.zone, inner.Text("zone", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(status.spot, inner.Flag("spot", false));
  TIDEMILL_TRY_VOID(
      ReadEach(inner, "jobs", limits::kJobsPerStatus, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(JobUse use, ReadUse(element));
        status.jobs.push_back(std::move(use));
        return {};
      }));
  return std::optional(std::move(status));
}

}  // namespace tidemill::json
