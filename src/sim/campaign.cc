// SPDX-License-Identifier: Apache-2.0
#include "sim/campaign.h"

#include <poll.h>

#include <list>
#include <utility>
#include <vector>

#include "sim/apart.h"

namespace tidemill {
namespace {

struct UnderWay {
  std::uint64_t seed;
  TimePoint since;
  ApartRun run;
};

constexpr int kProgressMs = 1000;

void Add(SimTotals& totals, const SimOutcome& outcome) {
  ++totals.seeds;
  totals.steps += outcome.steps;
  totals.settlements += outcome.settlements;
  totals.faults += outcome.faults;
  totals.machine_hours += outcome.machine_hours;
}

class Player {
 public:
  using Play = std::function<SimOutcome(std::uint64_t)>;
  Player(const Campaign& campaign, const Play& play)
      : campaign_(campaign), play_(play), begin_(campaign.clock()) {}

  Result<CampaignEnd> Run() {
    while (!end_.failure) {
      TIDEMILL_TRY_VOID(BeginSome());
      if (under_way_.empty()) break;
      EndSome();
      campaign_.on_progress(end_.totals);
    }
    return end_;
  }

 private:
  bool MayBegin() const {
    if (under_way_.size() >= static_cast<std::size_t>(campaign_.jobs)) return false;
    if (campaign_.count && begun_ >= *campaign_.count) return false;
    return !campaign_.time || campaign_.clock() - begin_ < *campaign_.time;
  }

  Result<void> BeginSome() {
    while (MayBegin()) {
      const std::uint64_t seed = campaign_.first + begun_;
      TIDEMILL_TRY(ApartRun run, ApartRun::Begin([&] { return play_(seed); }, false));
      under_way_.push_back({seed, campaign_.clock(), std::move(run)});
      ++begun_;
    }
    return {};
  }

  // Those that are over, or have taken too long; waits up to a second for one.
  void EndSome() {
    std::vector<pollfd> waits;
    for (const UnderWay& one : under_way_) waits.push_back({one.run.fd(), POLLIN, 0});
    poll(waits.data(), waits.size(), kProgressMs);
    auto one = under_way_.begin();
    for (const pollfd& wait : waits) {
      if (end_.failure) return;
      const bool over = wait.revents != 0;
      if (over || campaign_.clock() - one->since > kRunTime) {
        Take(one->seed, over ? one->run.End() : Stuck());
        one = under_way_.erase(one);
      } else {
        ++one;
      }
    }
  }

  void Take(std::uint64_t seed, SimOutcome outcome) {
    if (outcome.verdict == SimVerdict::kGood) {
      Add(end_.totals, outcome);
    } else {
      end_.failure = SeedFailure{seed, std::move(outcome)};
    }
  }

  const Campaign& campaign_;
  const Play& play_;
  const TimePoint begin_;
  std::uint64_t begun_ = 0;
  std::list<UnderWay> under_way_;  // as many as there are jobs, at most
  CampaignEnd end_;
};

}  // namespace

Result<CampaignEnd> PlaySeeds(const Campaign& campaign,
                              const std::function<SimOutcome(std::uint64_t)>& play) {
  return Player(campaign, play).Run();
}

SimOutcome PlayTwice(const SimPlan& plan, const std::function<SimOutcome(const SimPlan&)>& play) {
  SimOutcome once = play(plan);
  if (once.verdict == SimVerdict::kGood && play(plan).trace != once.trace) {
    once.verdict = SimVerdict::kSafety;
    once.id = "S26";
    once.what = "two runs of one plan differ";
  }
  return once;
}

}  // namespace tidemill
