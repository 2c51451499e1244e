// SPDX-License-Identifier: Apache-2.0
#include "store/check.h"

#include <functional>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

constexpr JobId kJob{7};
constexpr SessionId kSession{1, 1};

Bits Of(std::initializer_list<int> items) {
  Bits bits(4);
  for (const int item : items) bits.Set(item);
  return bits;
}

// A job of three chunks. In the first, item 0 is done, 1 failed, 2 leased and 3 free; the second is
// done and rolled up; in the third, item 9 rests.
StoreState Intact() {
  StoreState state;
  state.sessions.push_back({kSession, "m", "p", "pool", {}, SessionState::kAlive});
  JobDump& dump = state.jobs.emplace_back();
  dump.job.id = kJob;
  dump.job.spec.name = "job";
  dump.job.state = JobState::kActive;
  dump.job.chunks = 3;
  dump.job.items = 12;
  Chunk first = NewChunk({kJob, 0}, 0, 4);
  first.done = Of({0, 1});
  first.failed = Of({1});
  first.leased = Of({2});
  first.suspect = Of({2});
  Chunk second = NewChunk({kJob, 1}, 4, 4);
  second.done = Bits::All(4);
  Chunk third = NewChunk({kJob, 2}, 8, 4);
  third.resting = Of({1});
  dump.chunks = {{first, false}, {second, true}, {third, false}};
  dump.tries.push_back({kJob, 9, 1, 0});
  dump.rests.push_back({9, 2, 1});
  dump.leases.push_back({LeaseId{2, 2}, kSession, {kJob, 0}, 0, Of({2})});
  dump.reports.push_back(
      {LeaseId{2, 2}, 0, {kJob, 0}, 0, ReportKind::kAgent, Of({0, 1, 3}), Of({0, 1}), "body"});
  dump.stats.push_back({{kJob, 1}, 0, Bits::All(4), "block", "summary"});
  return state;
}

std::vector<std::string> After(const std::function<void(StoreState&)>& change) {
  StoreState state = Intact();
  change(state);
  return CheckConservation(state);
}

// Some breach says so; one cause may show in more than one way.
void ExpectBreach(const std::string& sentence, const std::function<void(JobDump&)>& change) {
  const std::vector<std::string> breaches =
      After([&](StoreState& state) { change(state.jobs[0]); });
  bool found = false;
  for (const std::string& breach : breaches) {
    EXPECT_EQ(breach.find("job-7: "), 0u) << breach;
    found = found || breach.find(sentence) != std::string::npos;
  }
  EXPECT_TRUE(found) << "no breach says: " << sentence;
}

TEST(CheckConservation, FindsNothingInAnIntactState) {
  EXPECT_EQ(CheckConservation(Intact()), std::vector<std::string>());
  EXPECT_EQ(CheckConservation({}), std::vector<std::string>());
}

TEST(CheckConservation, ChunksMustCoverTheItemsOnce) {
  ExpectBreach("is out of its place", [](JobDump& job) { job.chunks[1].chunk.key.chunk = 2; });
  ExpectBreach("does not begin where", [](JobDump& job) { job.chunks[1].chunk.first_item = 5; });
  ExpectBreach("its chunks hold 12 items, it has 13", [](JobDump& job) { job.job.items = 13; });
}

TEST(CheckConservation, StatesMustBeApart) {
  ExpectBreach("is done and leased", [](JobDump& job) { job.chunks[0].chunk.done.Set(2); });
  ExpectBreach("a parked item is done", [](JobDump& job) { job.chunks[0].chunk.parked.Set(0); });
  ExpectBreach("a parked item is done", [](JobDump& job) { job.chunks[0].chunk.parked.Set(2); });
  ExpectBreach("has failed and is not done",
               [](JobDump& job) { job.chunks[0].chunk.failed.Set(3); });
  for (const int item : {0, 2}) {
    ExpectBreach("a resting item is done, leased",
                 [item](JobDump& job) { job.chunks[0].chunk.resting.Set(item); });
  }
  ExpectBreach("a resting item is done, leased or parked",
               [](JobDump& job) { job.chunks[2].chunk.parked.Set(1); });
  ExpectBreach("was lost once and twice", [](JobDump& job) { job.chunks[0].chunk.lost1.Set(2); });
}

TEST(CheckConservation, LeasesMustOweWhatIsLeased) {
  ExpectBreach("owes nothing", [](JobDump& job) { job.leases[0].mine = Of({}); });
  ExpectBreach("what is leased is not what leases owe",
               [](JobDump& job) { job.leases[0].mine = Of({3}); });
  ExpectBreach("what is leased is not what leases owe", [](JobDump& job) { job.leases.clear(); });
  ExpectBreach("owes an item that another lease owes", [](JobDump& job) {
    job.leases.push_back(job.leases[0]);
    job.leases[1].id.low = 3;
  });
  ExpectBreach("does not fit its chunk", [](JobDump& job) { job.leases[0].chunk.chunk = 5; });
  ExpectBreach("does not fit its chunk", [](JobDump& job) { job.leases[0].chunk.chunk = -1; });
  ExpectBreach("does not fit its chunk", [](JobDump& job) { job.leases[0].mine = Bits::All(3); });
}

TEST(CheckConservation, WhatRestsMustBeDue) {
  ExpectBreach("chunk 2: what rests is not what is due", [](JobDump& job) { job.rests.clear(); });
  ExpectBreach("chunk 0: what rests is not what is due",
               [](JobDump& job) { job.rests.push_back({3, 0, 1}); });
  ExpectBreach("chunk 2: what rests is not what is due",
               [](JobDump& job) { job.chunks[2].chunk.resting.Clear(1); });
  for (const Rest& lost : {Rest{9, 1, 1}, Rest{4, 2, 1}, Rest{12, 2, 1}, Rest{9, 7, 1}}) {
    ExpectBreach("is due in a chunk that has it not", [&](JobDump& job) { job.rests = {lost}; });
  }
}

TEST(CheckConservation, LeasesMustHaveALivingSession) {
  for (const auto& change : std::vector<std::function<void(StoreState&)>>{
           [](StoreState& state) { state.sessions.clear(); },
           [](StoreState& state) { state.sessions[0].state = SessionState::kDead; }}) {
    const std::vector<std::string> breaches = After(change);
    ASSERT_EQ(breaches.size(), 1u);
    EXPECT_NE(breaches[0].find("belongs to a session that is not alive"), std::string::npos);
  }
  EXPECT_TRUE(
      After([](StoreState& state) { state.sessions[0].state = SessionState::kDraining; }).empty());
}

TEST(CheckConservation, EveryDoneItemMustHaveOneOutcome) {
  ExpectBreach("chunk 0: a done item has no outcome",
               [](JobDump& job) { job.reports[0].ended = Of({0}); });
  ExpectBreach("chunk 1: a done item has no outcome", [](JobDump& job) { job.stats.clear(); });
  ExpectBreach("has an outcome, not done", [](JobDump& job) { job.reports[0].ended.Set(3); });
  ExpectBreach("an item has two outcomes", [](JobDump& job) {
    job.reports.push_back(job.reports[0]);
    job.reports[1].seq = 1;
  });
  ExpectBreach("an item has two outcomes", [](JobDump& job) {
    job.stats.push_back(job.stats[0]);
    job.stats[1].round = 1;
  });
  ExpectBreach("ends what it did not settle",
               [](JobDump& job) { job.reports[0].settled = Of({0}); });
  ExpectBreach("a report does not fit its chunk",
               [](JobDump& job) { job.reports[0].chunk.chunk = 9; });
  ExpectBreach("a report does not fit its chunk",
               [](JobDump& job) { job.stats[0].ended = Bits::All(5); });
}

TEST(CheckConservation, AFinishedJobMustBeDone) {
  ExpectBreach("chunk 0: is not done in a finished job",
               [](JobDump& job) { job.job.state = JobState::kFinished; });
  ExpectBreach("has leases and is finished",
               [](JobDump& job) { job.job.state = JobState::kFinished; });
}

TEST(CheckConservation, ACancelledJobMustHaveNothingWaitingOrLeased) {
  ExpectBreach("chunk 0: has waiting items in a cancelled job",
               [](JobDump& job) { job.job.state = JobState::kCancelled; });
  ExpectBreach("has leases and is cancelled",
               [](JobDump& job) { job.job.state = JobState::kCancelled; });
}

TEST(CheckConservation, ADraftMustHaveNoLeases) {
  ExpectBreach("has leases and is draft", [](JobDump& job) { job.job.state = JobState::kDraft; });
}

}  // namespace
}  // namespace tidemill
