// SPDX-License-Identifier: Apache-2.0
// Plays whole runs of the control plane on a virtual clock, a seed each.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "sim/world.h"

namespace {

// Exit codes: 0 good, 1 wrong use, 2 something was lost or doubled, 3 something did not end.
int ExitOf(tidemill::SimVerdict verdict) {
  return verdict == tidemill::SimVerdict::kSafety ? 2 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  std::uint64_t count = 1;
  CLI::App app("Plays servers, a store and agents on a virtual clock, with faults.",
               "tidemill-sim");
  app.add_option("--seed", seed, "the first seed")->capture_default_str();
  app.add_option("--count", count, "how many seeds, one after the other")->capture_default_str();
  app.footer(
      "Example: tidemill-sim --seed 1 --count 500\n"
      "Exit codes: 0 good, 1 wrong use, 2 something was lost or doubled, 3 did not end.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t steps = 0;
  for (std::uint64_t s = seed; s < seed + count; ++s) {
    tidemill::SimOutcome outcome = tidemill::Simulate(s);
    // One in twenty is played twice: a run that is not the same again cannot be repeated.
    if (s % 20 == 0 && tidemill::Simulate(s).trace != outcome.trace) {
      outcome.verdict = tidemill::SimVerdict::kSafety;
      outcome.what = "two runs of this seed differ";
    }
    steps += outcome.steps;
    if (outcome.verdict == tidemill::SimVerdict::kGood) continue;
    std::printf("seed %llu: %s\nrepeat with: tidemill-sim --seed %llu\n",
                static_cast<unsigned long long>(s), outcome.what.c_str(),
                static_cast<unsigned long long>(s));
    return ExitOf(outcome.verdict);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds good, %llu steps in %.1f s\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(steps), took.count());
  return 0;
}
