// SPDX-License-Identifier: Apache-2.0
// Plays whole runs of tidemill on a virtual clock, a seed each, and makes small what fails.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/planted.h"
#include "sim/apart.h"
#include "sim/campaign.h"
#include "sim/plan_json.h"
#include "sim/shrink.h"
#include "sim/sim_report.h"
#include "sim/world.h"

namespace tidemill {
namespace {

// A smaller plan takes no longer than the one that failed; one that does is passed over.
constexpr Duration kShrinkRunTime = std::chrono::seconds(30);
constexpr Duration kProgressEvery = std::chrono::milliseconds(200);

struct Options {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> count;
  std::optional<std::int64_t> seconds;
  int jobs = 1;
  std::string replay;
  bool plan = false;
  bool shrink = false;
  bool no_shrink = false;
  std::int64_t shrink_seconds = 60;
  std::string keep = ".";
  bool json = false;
  std::string plant;
};

TimePoint Now() {
  return TimePoint(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

// One line that is written over, for whoever looks at a terminal.
class Progress {
 public:
  ~Progress() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
  }
  void Show(const std::string& text) {
    if (!on_terminal_ || Now() - last_ < kProgressEvery) return;
    last_ = Now();
    is_shown_ = true;
    std::fprintf(stderr, "\r%s\033[K", text.c_str());
  }

 private:
  const bool on_terminal_ = isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
  TimePoint last_{};
};

int Complain(const std::string& what) {
  std::fprintf(stderr, "tidemill-sim: %s\n", what.c_str());
  return 1;
}

Result<SimPlan> ReadPlan(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(Code::kNotFound, path + " cannot be read");
  std::string text(kPlanBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  Result<SimPlan> plan = ParsePlan(text);
  if (!plan) return While(path, plan.error());
  return plan;
}

// Makes the plan of a failure small, if it is asked to, and writes it into a file.
Result<KeptFailure> Keep(const Options& options, const SimPlan& plan, const SimOutcome& outcome,
                         bool shrinks) {
  KeptFailure kept;
  kept.seed = plan.seed;
  kept.outcome = outcome;
  SimPlan small = plan;
  std::string why = outcome.what;
  // Each run of one that is stuck would be waited for.
  if (shrinks && outcome.id != "stuck") {
    Progress progress;
    const auto play = [&](const SimPlan& smaller) {
      progress.Show(outcome.id + " with seed " + std::to_string(plan.seed) + ", shrinking: run " +
                    std::to_string(++kept.runs));
      SimOutcome again =
          PlayApart([&] { return outcome.id == "S26" ? PlayTwice(smaller, Play) : Play(smaller); },
                    kShrinkRunTime);
      if (again.id == outcome.id) why = again.what;
      return again;
    };
    ShrinkLimits limits;
    limits.time = std::chrono::seconds(options.shrink_seconds);
    limits.clock = Now;
    small = Shrink(plan, outcome.id, play, limits);
    kept.shrunk = DescribeShrink(plan, small);
  }
  small.why = outcome.id + ": " + why;
  const auto path = std::filesystem::path(options.keep) / KeptFileName(outcome.id, plan.seed);
  kept.file = path.lexically_normal().string();
  std::ofstream file(path, std::ios::binary);
  file << FormatPlan(small);
  if (!file.flush()) return Fail(Code::kUnavailable, kept.file + " cannot be written");
  return kept;
}

int Say(const Options& options, const SimTotals& totals, Duration took,
        const KeptFailure* failure) {
  std::string text;
  if (options.json) {
    text = FormatEndJson(totals, took, failure);
  } else {
    text = failure == nullptr ? FormatTotals(totals, took) : FormatFailure(*failure);
  }
  std::fputs(text.c_str(), stdout);
  return failure == nullptr ? 0 : SimExitCode(failure->outcome.verdict);
}

int PrintPlan(const Options& options) {
  const Result<SimPlan> plan =
      options.replay.empty() ? DrawPlan(options.seed) : ReadPlan(options.replay);
  if (!plan) return Complain(plan.error().reason);
  std::fputs(FormatPlan(*plan).c_str(), stdout);
  return 0;
}

int Replay(const Options& options) {
  const Result<SimPlan> plan = ReadPlan(options.replay);
  if (!plan) return Complain(plan.error().reason);
  const TimePoint begin = Now();
  // In this process, for debuggers.
  const SimOutcome outcome = PlayTwice(*plan, Play);
  const Duration took = Now() - begin;
  if (outcome.verdict == SimVerdict::kGood) {
    return Say(options,
               {1, outcome.steps, outcome.settlements, outcome.faults, outcome.machine_hours}, took,
               nullptr);
  }
  KeptFailure failure{plan->seed, outcome, options.replay, "", 0};
  if (options.shrink) {
    Result<KeptFailure> kept = Keep(options, *plan, outcome, true);
    if (!kept) return Complain(kept.error().reason);
    failure = *std::move(kept);
  }
  return Say(options, {}, took, &failure);
}

SimOutcome PlaySeed(std::uint64_t seed) {
  const SimPlan plan = DrawPlan(seed);
  // One in twenty is enough to see that runs can be repeated.
  return seed % 20 == 0 ? PlayTwice(plan, Play) : Play(plan);
}

int PlayAll(const Options& options) {
  Campaign campaign;
  campaign.first = options.seed;
  campaign.count = options.count;
  if (!options.count && !options.seconds) campaign.count = 1;
  if (options.seconds) campaign.time = std::chrono::seconds(*options.seconds);
  campaign.jobs = options.jobs;
  campaign.clock = Now;
  const TimePoint begin = Now();
  Result<CampaignEnd> end;
  {
    Progress progress;
    campaign.on_progress = [&](const SimTotals& totals) {
      progress.Show(std::to_string(totals.seeds) + " seeds, " +
                    std::to_string(static_cast<std::int64_t>(totals.machine_hours)) +
                    " machine hours, " + std::to_string((Now() - begin) / std::chrono::seconds(1)) +
                    " s");
    };
    end = PlaySeeds(campaign, PlaySeed);
  }
  const Duration took = Now() - begin;
  if (!end) return Complain(end.error().reason);
  if (!end->failure) return Say(options, end->totals, took, nullptr);
  const Result<KeptFailure> kept =
      Keep(options, DrawPlan(end->failure->seed), end->failure->outcome, !options.no_shrink);
  if (!kept) return Complain(kept.error().reason);
  return Say(options, end->totals, took, &*kept);
}

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("--seed", options.seed, "the first seed")->capture_default_str();
  app.add_option("--count", options.count, "how many seeds; 1 if there is no --seconds")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--seconds", options.seconds, "begin no more seeds after so long")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--jobs", options.jobs, "processes side by side")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--replay", options.replay, "play the plan in this file");
  app.add_flag("--plan", options.plan, "print the plan as JSON, and play nothing");
  CLI::Option* shrink =
      app.add_flag("--shrink", options.shrink,
                   "make the plan of a failure small; seeds do it, --replay if asked");
  app.add_flag("--no-shrink", options.no_shrink, "keep the plan of a failure as it is")
      ->excludes(shrink);
  app.add_option("--shrink-seconds", options.shrink_seconds, "how long that may take")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--keep", options.keep, "the folder for plans that failed")->capture_default_str();
  app.add_flag("--json", options.json, "say it as JSON");
  if constexpr (kHasPlants) {
    app.add_option("--plant", options.plant, "switch an error on, which must then be found")
        ->check(CLI::IsMember(std::vector<std::string>(kPlantNames.begin(), kPlantNames.end())));
  }
  app.footer(
      "Examples:\n"
      "  tidemill-sim --seed 1 --count 400 --jobs 2\n"
      "  tidemill-sim --seconds 3600 --jobs 2 --keep failures\n"
      "  tidemill-sim --seed 1234 --plan > plan.json\n"
      "  tidemill-sim --replay sim-S04-1234.json\n"
      "Exit codes: 0 good, 1 wrong use, 2 something was lost or doubled, 3 did not end.");
}

// Also in the processes that play the seeds: they are forked off this one.
void SwitchOn([[maybe_unused]] const std::string& name) {
#ifdef TIDEMILL_PLANTS
  const auto found = std::find(kPlantNames.begin(), kPlantNames.end(), name);
  if (found != kPlantNames.end()) planted = static_cast<Plant>(found - kPlantNames.begin());
#endif
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) {
  tidemill::Options options;
  CLI::App app("Plays servers, a store, a cloud and agents on a virtual clock, with faults.",
               "tidemill-sim");
  tidemill::AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  tidemill::SwitchOn(options.plant);
  if (options.plan) return tidemill::PrintPlan(options);
  return options.replay.empty() ? tidemill::PlayAll(options) : tidemill::Replay(options);
}
