// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "cli/format.h"
#include "cli/machines.h"
#include "cli/table.h"
#include "wire/job_json.h"

namespace tidemill::cli {
namespace {

using Values = StatsAnswer::Values;

// Fewer attempts say little about those to come.
constexpr std::int64_t kLeastAttempts = 20;
// A smaller gain is not worth a change of the spec.
constexpr double kLeastGain = 0.15;
// Whatever a program is, its libraries and its shell want some room.
constexpr std::int64_t kLeastMemory = 16 << 20;

// Up to two digits that matter, so that it looks like something a person would write.
std::int64_t RoundUp(double value) {
  double step = 1;
  while (value / step > 20) step *= 2;
  return static_cast<std::int64_t>(std::ceil(value / step) * step);
}

std::string FewerText(double fewer) {
  return "up to " + std::to_string(std::lround(fewer * 100)) + " % fewer machines";
}

std::vector<Cell> RowOf(const std::string& name, const std::string& asked, const std::string& now,
                        const Values& values, const std::function<std::string(std::int64_t)>& text,
                        const std::string& advice) {
  const auto cell = [&](std::int64_t value) { return values.count > 0 ? text(value) : "-"; };
  return {name,
          asked,
          now,
          cell(values.p50),
          cell(values.p95),
          cell(values.p99),
          cell(values.max),
          Cell(advice, Colour::kYellow)};
}

}  // namespace

void UseNow::Add(const ListedMachine& machine, JobId job) {
  if (!machine.status) return;
  for (const JobUse& use : machine.status->jobs) {
    if (use.job != job || use.running <= 0) continue;
    running += use.running;
    millicpus += use.millicpus;
    memory_bytes += use.memory_bytes;
    ++machines;
  }
}

std::string MemoryAdvice(std::int64_t asked, const Values& took) {
  if (took.count < kLeastAttempts || took.max <= 0) return "";
  // A tenth above the most that any attempt took: less would have killed that one.
  const std::int64_t enough = std::max(kLeastMemory, RoundUp(1.1 * static_cast<double>(took.max)));
  if (asked == 0) return "ask " + BytesText(enough) + ", so that machines are not overfilled";
  const double fewer = 1 - static_cast<double>(enough) / static_cast<double>(asked);
  if (took.max > asked) return "ask " + BytesText(enough) + ": some took more than it asks for";
  if (fewer < kLeastGain) return "";
  return "ask " + BytesText(enough) + ": " + FewerText(fewer);
}

std::string CpuAdvice(std::int64_t asked_millis, const Values& took) {
  if (took.count < kLeastAttempts || took.p95 <= 0) return "";
  // In tenths; nothing is killed for want of a processor, so the few above it do not matter.
  const std::int64_t enough = (took.p95 + 99) / 100 * 100;
  if (took.p50 > asked_millis * 5 / 4) {
    return "ask " + CpusText(enough) + ": most use more than it asks for";
  }
  const double fewer = 1 - static_cast<double>(enough) / static_cast<double>(asked_millis);
  if (fewer < kLeastGain) return "";
  return "ask " + CpusText(enough) + ": " + FewerText(fewer);
}

std::string UsageText(const Job& job, const StatsAnswer& stats, const UseNow& now,
                      std::size_t width, bool colours) {
  const Resources& asked = job.spec.resources;
  const bool runs = now.running > 0;
  std::vector<std::vector<Cell>> rows;
  rows.push_back(RowOf("cpu", CpusText(asked.millicpus),
                       runs ? CpusText(now.millicpus / now.running / 10 * 10) : "-",
                       stats.cpu_millis, CpusText, CpuAdvice(asked.millicpus, stats.cpu_millis)));
  rows.push_back(RowOf("memory", asked.memory_bytes > 0 ? BytesText(asked.memory_bytes) : "-",
                       runs ? BytesText(now.memory_bytes / now.running) : "-", stats.memory_bytes,
                       BytesText, MemoryAdvice(asked.memory_bytes, stats.memory_bytes)));
  rows.push_back(RowOf("duration", "-", "-", stats.duration_ms, DurationText, ""));
  std::string out = FormatTable({{""},
                                 {"ASKED", true},
                                 {"NOW", true},
                                 {"MEDIAN", true},
                                 {"P95", true},
                                 {"P99", true},
                                 {"MAX", true},
                                 {"ADVICE"}},
                                rows, width, colours);
  std::string foot = "Measured: " + CountOf(stats.duration_ms.count, "attempt");
  if (runs) {
    foot += "; now " + CountOf(now.running, "item") + " on " + CountOf(now.machines, "machine") +
            ", together " + CpusText(now.millicpus / 10 * 10) + " cpus and " +
            BytesText(now.memory_bytes);
  }
  out += Clip(foot + ".", width) + "\n";
  if (stats.partial)
    out += Clip("Some chunks are still under way: their attempts are missing.", width) + "\n";
  return out;
}

int ShowUsage(const Context& context, const std::string& job) {
  const Console& console = context.console;
  const auto stats_body = context.client.Get(JobTarget(job, "/stats"));
  if (!stats_body) return Explain(console, context.client, stats_body.error(), job);
  if (console.json) {
    console.Line(*stats_body);
    return kDone;
  }
  const auto stats = ParseStats(*stats_body);
  if (!stats) return Explain(console, context.client, stats.error());
  const auto job_body = context.client.Get(JobTarget(job));
  if (!job_body) return Explain(console, context.client, job_body.error(), job);
  const auto shown = ParseJob(*job_body);
  if (!shown) return Explain(console, context.client, shown.error());
  const auto machines = FetchMachines(context.client);
  if (!machines) return Explain(console, context.client, machines.error());
  UseNow now;
  for (const ListedMachine& machine : *machines) now.Add(machine, shown->id);
  console.out(UsageText(*shown, *stats, now, console.columns, console.colours));
  return kDone;
}

}  // namespace tidemill::cli
