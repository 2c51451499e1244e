// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "wire/tree.h"

namespace tidemill {
namespace {

double SecondsOf(Duration time) { return std::chrono::duration<double>(time).count(); }

double HoursAMinute(const SimTotals& totals, Duration took) {
  return totals.machine_hours * 60 / std::max(SecondsOf(took), 0.001);
}

std::string Fixed(double number) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.1f", number);
  return {text.data(), static_cast<std::size_t>(length)};
}

const char* NameOf(SimVerdict verdict) {
  switch (verdict) {
    case SimVerdict::kGood:
      return "good";
    case SimVerdict::kSafety:
      return "safety";
    case SimVerdict::kLiveness:
      return "liveness";
  }
  return "";
}

}  // namespace

std::string KeptFileName(const std::string& id, std::uint64_t seed) {
  return "sim-" + id + "-" + std::to_string(seed) + ".json";
}

std::string FormatTotals(const SimTotals& totals, Duration took) {
  return std::to_string(totals.seeds) + (totals.seeds == 1 ? " seed" : " seeds") +
         " good: " + std::to_string(totals.steps) + " steps, " +
         std::to_string(totals.settlements) + " settlements, " + std::to_string(totals.faults) +
         " faults, " + Fixed(totals.machine_hours) + " machine hours (" +
         Fixed(HoursAMinute(totals, took)) + " a minute) in " + Fixed(SecondsOf(took)) + " s\n";
}

std::string FormatFailure(const KeptFailure& failure) {
  std::string out = "seed " + std::to_string(failure.seed) + ": " + failure.outcome.id + ": " +
                    failure.outcome.what + "\n";
  if (!failure.shrunk.empty()) {
    out += "shrunk in " + std::to_string(failure.runs) + " runs: " + failure.shrunk + "\n";
  }
  return out + "repeat with: tidemill-sim --replay " + failure.file + "\n";
}

std::string FormatEndJson(const SimTotals& totals, Duration took, const KeptFailure* failure) {
  Tree::Object out{{"seeds", TreeOf(totals.seeds)},
                   {"steps", TreeOf(totals.steps)},
                   {"settlements", Tree(totals.settlements)},
                   {"faults", Tree(totals.faults)},
                   {"machine_hours", Tree(totals.machine_hours)},
                   {"machine_hours_a_minute", Tree(HoursAMinute(totals, took))},
                   {"seconds", Tree(SecondsOf(took))}};
  if (failure != nullptr) {
    Tree::Object what{{"seed", TreeOf(failure->seed)},
                      {"verdict", Tree(NameOf(failure->outcome.verdict))},
                      {"id", Tree(failure->outcome.id)},
                      {"what", Tree(failure->outcome.what)},
                      {"plan", Tree(failure->file)},
                      {"shrunk", Tree(failure->shrunk)},
                      {"runs", Tree(std::int64_t{failure->runs})}};
    out.emplace_back("failure", Tree(std::move(what)));
  }
  return FormatTree(Tree(std::move(out)));
}

int SimExitCode(SimVerdict verdict) {
  if (verdict == SimVerdict::kGood) return 0;
  return verdict == SimVerdict::kSafety ? 2 : 3;
}

}  // namespace tidemill
