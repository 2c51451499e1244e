// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/device_variables.h"
#include "agent/slots.h"
#include "base/check.h"

namespace tidemill {

// One container, from the wish for it to its end.
//
//   opening ──▶ open ──gone, or closed──▶ (erased)
//      left ─────▲        opened by an earlier life of the agent, and not adopted yet
struct Slots::Slot : ContainerEvents {
  struct Given {
    std::uint64_t number = 0;
    Attempt attempt;
    StopWhy stopped = StopWhy::kNone;
    // False: an earlier life of the agent began it for a lease that is gone. Nobody knows its
    // secrets any more, so nothing of it is told.
    bool ours = true;
    // Since it became the first, or was stopped, as far as this agent was awake.
    Duration waited{};
    Duration ran{};  // the same, whether it was stopped or not
  };

  Slot(Slots& a_slots, Wish&& wish, Room::Share a_share)
      : slots(a_slots),
        spec(std::move(wish.spec)),
        once(wish.once),
        share(std::move(a_share)),
        program(std::move(wish.program)),
        timeout(wish.timeout),
        grace(wish.grace),
        secrets(std::move(wish.secrets)),
        keeps(std::move(wish.keeps)) {}
  ~Slot() override {
    EndStreams();
    slots.room_.Return(share);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  Need need() const { return {spec.job, spec.limits.memory_bytes}; }

  // Their numbers rise. But for a loop, only the first can have something to say.
  std::deque<Given>::iterator Find(std::uint64_t number) {
    const auto found =
        std::lower_bound(runs.begin(), runs.end(), number,
                         [](const Given& one, std::uint64_t n) { return one.number < n; });
    const bool speaks =
        found != runs.end() && found->number == number && (spec.loop || found == runs.begin());
    return speaks ? found : runs.end();
  }

  // Whether one more may be given to it.
  bool Takes(int depth, bool alone) const {
    if (!container || !container->usable() || retired || (once && used)) return false;
    if (alone) return runs.empty();
    if (runs.size() >= static_cast<std::size_t>(depth)) return false;
    return runs.empty() || !runs.front().attempt.alone;
  }

  void OnLog(std::uint64_t number, std::string_view bytes) override {
    const auto found = Find(number);
    if (found != runs.end() && found->ours) slots.events_.OnItemLog(found->attempt, bytes);
  }

  void OnProgress(std::uint64_t number, std::int32_t permille, std::string_view note) override {
    const auto found = Find(number);
    if (found == runs.end() || !found->ours) return;
    slots.events_.OnItemProgress(found->attempt, permille, note);
  }

  void OnEnd(const ItemEnd& end) override {
    const auto found = Find(end.number);
    TIDEMILL_CHECK(found != runs.end());
    const Given given = *found;
    runs.erase(found);
    if (runs.empty()) idle_since = slots.deps_.loop.Now();
    Slots& owner = slots;
    if (once || (retired && runs.empty())) owner.Close(this);  // destroys it
    if (!given.ours) return owner.events_.OnRoom();
    owner.events_.OnItemEnd(given.attempt, end, given.stopped);
  }

  void OnGone(const std::string& why) override {
    std::vector<Attempt> lost;
    const Duration ran = runs.empty() ? Duration{} : runs.front().ran;
    for (const Given& given : runs) {
      if (given.ours) lost.push_back(given.attempt);
    }
    // Close destroys this slot and its container.
    Slots& owner = slots;
    const std::string reason = why;
    const bool was_let_go = retired && lost.empty();
    if (!was_let_go) {
      owner.deps_.log.Warn("container.gone", {{"job", spec.job.number},
                                              {"runs", static_cast<std::int64_t>(lost.size())},
                                              {"reason", reason}});
    }
    owner.Close(this);
    if (!lost.empty()) owner.events_.OnItemsLost(lost, ran, reason);
    owner.events_.OnRoom();
  }

  // See slots_streams.cc.
  void OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) override;
  void OnStreamFull(std::uint64_t number, bool full) override;
  void OnStreamEnd(std::uint64_t number, const StreamEnd& end) override;
  std::shared_ptr<SlotStream> StreamOf(std::uint64_t number) const;
  void EndStreams();

  // Whether one of its runs should have ended long ago; `passed` is since it was last asked.
  bool IsLate(Duration passed);
  // What is to be told when it is closed for that.
  std::vector<LateRun> LateRuns() const;
  Duration LatestEnd(const Given& given) const;

  Slots& slots;
  const ContainerSpec spec;
  bool once;
  const Room::Share share;
  const std::string devices = OutcomeDevices(slots.room_.DevicesOf(share));
  ItemRun program;                                 // of a loop, until it is open
  Duration timeout;                                // of its runs; zero: none
  Duration grace;                                  // the same of a loop's program
  std::shared_ptr<const JobSecrets> secrets;       // null: its job has none
  std::vector<std::shared_ptr<const void>> keeps;  // longer than the container
  std::optional<FoundContainer> left;              // see above
  std::unique_ptr<Container> container;            // null while it is being opened, or left
  // The first one runs, the others wait in the container; of a loop, any of them may run.
  std::deque<Given> runs;
  // That are open, by number.
  std::map<std::uint64_t, std::weak_ptr<SlotStream>> streams;
  bool used = false;      // has had a run
  bool unwanted = false;  // to be closed as soon as it is open
  bool retired = false;   // gets nothing more
  TimePoint asked_at{};
  TimePoint idle_since{};
  TimePoint measured_at{};
  Duration measured_cpu{};
};

}  // namespace tidemill
