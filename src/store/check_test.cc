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

std::vector<Breach> After(const std::function<void(StoreState&)>& change) {
  StoreState state = Intact();
  change(state);
  return CheckConservation(state);
}

// Some breach of this id says so; one cause may show in more than one way.
void ExpectBreach(const std::string& id, const std::string& sentence,
                  const std::function<void(JobDump&)>& change) {
  const std::vector<Breach> breaches = After([&](StoreState& state) { change(state.jobs[0]); });
  bool found = false;
  for (const Breach& breach : breaches) {
    EXPECT_EQ(breach.what.find("job-7: "), 0u) << breach.what;
    found = found || (breach.id == id && breach.what.find(sentence) != std::string::npos);
  }
  EXPECT_TRUE(found) << "no breach of " << id << " says: " << sentence;
}

TEST(CheckConservation, FindsNothingInAnIntactState) {
  EXPECT_EQ(CheckConservation(Intact()), std::vector<Breach>());
  EXPECT_EQ(CheckConservation({}), std::vector<Breach>());
}

TEST(CheckConservation, ChunksMustCoverTheItemsOnce) {
  ExpectBreach("S01", "is out of its place",
               [](JobDump& job) { job.chunks[1].chunk.key.chunk = 2; });
  ExpectBreach("S01", "does not begin where",
               [](JobDump& job) { job.chunks[1].chunk.first_item = 5; });
  ExpectBreach("S01", "its chunks hold 12 items, it has 13",
               [](JobDump& job) { job.job.items = 13; });
}

TEST(CheckConservation, WhatIsPackedAwayIsCountedInstead) {
  StoreState state = Intact();
  JobDump& job = state.jobs[0];
  // Three items in two chunks, before all others and between them.
  for (StoredChunk& stored : job.chunks) stored.chunk.first_item += 2;
  job.chunks.back().chunk.first_item += 1;
  for (Rest& rest : job.rests) rest.item += rest.chunk == 0 ? 2 : 3;
  job.job.items += 3;
  job.packed = {3, 1};
  EXPECT_EQ(CheckConservation(state), std::vector<Breach>());
  job.packed = {2, 1};
  EXPECT_EQ(CheckConservation(state).size(), 1u);
  job.packed = {3, 4};
  EXPECT_EQ(CheckConservation(state).size(), 1u);
}

TEST(CheckConservation, StatesMustBeApart) {
  ExpectBreach("S02", "is done and leased", [](JobDump& job) { job.chunks[0].chunk.done.Set(2); });
  ExpectBreach("S02", "a parked item is done",
               [](JobDump& job) { job.chunks[0].chunk.parked.Set(0); });
  ExpectBreach("S02", "a parked item is done",
               [](JobDump& job) { job.chunks[0].chunk.parked.Set(2); });
  ExpectBreach("S02", "has failed and is not done",
               [](JobDump& job) { job.chunks[0].chunk.failed.Set(3); });
  for (const int item : {0, 2}) {
    ExpectBreach("S02", "a resting item is done, leased",
                 [item](JobDump& job) { job.chunks[0].chunk.resting.Set(item); });
  }
  ExpectBreach("S02", "a resting item is done, leased or parked",
               [](JobDump& job) { job.chunks[2].chunk.parked.Set(1); });
  ExpectBreach("S02", "was lost once and twice",
               [](JobDump& job) { job.chunks[0].chunk.lost1.Set(2); });
}

TEST(CheckConservation, LeasesMustOweWhatIsLeased) {
  ExpectBreach("S03", "owes nothing", [](JobDump& job) { job.leases[0].mine = Of({}); });
  ExpectBreach("S03", "what is leased is not what leases owe",
               [](JobDump& job) { job.leases[0].mine = Of({3}); });
  ExpectBreach("S03", "what is leased is not what leases owe",
               [](JobDump& job) { job.leases.clear(); });
  ExpectBreach("S03", "owes an item of another lease", [](JobDump& job) {
    job.leases.push_back(job.leases[0]);
    job.leases[1].id.low = 3;
  });
  ExpectBreach("S03", "does not fit its chunk",
               [](JobDump& job) { job.leases[0].chunk.chunk = 5; });
  ExpectBreach("S03", "does not fit its chunk",
               [](JobDump& job) { job.leases[0].chunk.chunk = -1; });
  ExpectBreach("S03", "does not fit its chunk",
               [](JobDump& job) { job.leases[0].mine = Bits::All(3); });
}

TEST(CheckConservation, WhatRestsMustBeDue) {
  ExpectBreach("S02", "chunk 2: what rests is not what is due",
               [](JobDump& job) { job.rests.clear(); });
  ExpectBreach("S02", "chunk 0: what rests is not what is due",
               [](JobDump& job) { job.rests.push_back({3, 0, 1}); });
  ExpectBreach("S02", "chunk 2: what rests is not what is due",
               [](JobDump& job) { job.chunks[2].chunk.resting.Clear(1); });
  for (const Rest& lost : {Rest{9, 1, 1}, Rest{4, 2, 1}, Rest{12, 2, 1}, Rest{9, 7, 1}}) {
    ExpectBreach("S02", "is due in a chunk that has it not",
                 [&](JobDump& job) { job.rests = {lost}; });
  }
}

TEST(CheckConservation, LeasesMustHaveALivingSession) {
  for (const auto& change : std::vector<std::function<void(StoreState&)>>{
           [](StoreState& state) { state.sessions.clear(); },
           [](StoreState& state) { state.sessions[0].state = SessionState::kDead; }}) {
    const std::vector<Breach> breaches = After(change);
    ASSERT_EQ(breaches.size(), 1u);
    EXPECT_EQ(breaches[0].id, "S07");
    EXPECT_NE(breaches[0].what.find("belongs to a session that is not alive"), std::string::npos);
  }
  EXPECT_TRUE(
      After([](StoreState& state) { state.sessions[0].state = SessionState::kDraining; }).empty());
}

TEST(CheckConservation, EveryDoneItemMustHaveOneOutcome) {
  ExpectBreach("S04", "chunk 0: a done item has no outcome",
               [](JobDump& job) { job.reports[0].ended = Of({0}); });
  ExpectBreach("S04", "chunk 1: a done item has no outcome",
               [](JobDump& job) { job.stats.clear(); });
  ExpectBreach("S04", "has an outcome, not done",
               [](JobDump& job) { job.reports[0].ended.Set(3); });
  ExpectBreach("S04", "an item has two outcomes", [](JobDump& job) {
    job.reports.push_back(job.reports[0]);
    job.reports[1].seq = 1;
  });
  ExpectBreach("S04", "an item has two outcomes", [](JobDump& job) {
    job.stats.push_back(job.stats[0]);
    job.stats[1].round = 1;
  });
  ExpectBreach("S04", "ends what it did not settle",
               [](JobDump& job) { job.reports[0].settled = Of({0}); });
  ExpectBreach("S04", "a report does not fit its chunk",
               [](JobDump& job) { job.reports[0].chunk.chunk = 9; });
  ExpectBreach("S04", "a report does not fit its chunk",
               [](JobDump& job) { job.stats[0].ended = Bits::All(5); });
  ExpectBreach("S04", "a report does not fit its chunk",
               [](JobDump& job) { job.reports[0].settled = Bits::All(5); });
}

TEST(CheckConservation, AFinishedJobMustBeDone) {
  ExpectBreach("S14", "chunk 0: is not done in a finished job",
               [](JobDump& job) { job.job.state = JobState::kFinished; });
  ExpectBreach("S07", "chunk 0: has leases and its job is finished",
               [](JobDump& job) { job.job.state = JobState::kFinished; });
}

TEST(CheckConservation, ACancelledJobMustHaveNothingWaitingOrLeased) {
  ExpectBreach("S14", "chunk 0: has waiting items in a cancelled job",
               [](JobDump& job) { job.job.state = JobState::kCancelled; });
  ExpectBreach("S07", "chunk 0: has leases and its job is cancelled",
               [](JobDump& job) { job.job.state = JobState::kCancelled; });
}

TEST(CheckConservation, ADraftMustHaveNoLeases) {
  ExpectBreach("S07", "chunk 0: has leases and its job is draft",
               [](JobDump& job) { job.job.state = JobState::kDraft; });
}

TEST(CheckConservation, ABreachIsALineThatBeginsWithItsId) {
  const auto breaches = After([](StoreState& state) { state.jobs[0].leases.clear(); });
  ASSERT_EQ(breaches.size(), 1u);
  EXPECT_EQ(ToString(breaches[0]), "S03 job-7: chunk 0: what is leased is not what leases owe");
}

// The first chunk of the job above, alone.
ChunkState FirstChunk() {
  const StoreState whole = Intact();
  const JobDump& dump = whole.jobs[0];
  ChunkState state;
  state.job = "job-7";
  state.stored = dump.chunks[0];
  state.leases = dump.leases;
  state.reports = dump.reports;
  return state;
}

TEST(CheckChunk, FindsNothingInAnIntactOne) {
  EXPECT_EQ(CheckChunk(FirstChunk()), std::vector<Breach>());
}

TEST(CheckChunk, FindsWhatIsWrongInItAlone) {
  const auto first_of = [](const std::function<void(ChunkState&)>& change) {
    ChunkState state = FirstChunk();
    change(state);
    const std::vector<Breach> breaches = CheckChunk(state);
    return breaches.empty() ? "" : ToString(breaches[0]);
  };
  EXPECT_EQ(first_of([](ChunkState& state) { state.stored.chunk.failed.Set(3); }),
            "S02 job-7: chunk 0: an item has failed and is not done");
  EXPECT_EQ(first_of([](ChunkState& state) { state.rests.push_back({9, 2, 1}); }),
            "S02 job-7: chunk 0: item 9 is due in a chunk that has it not");
  EXPECT_EQ(first_of([](ChunkState& state) { state.leases.clear(); }),
            "S03 job-7: chunk 0: what is leased is not what leases owe");
  EXPECT_EQ(first_of([](ChunkState& state) { state.reports.clear(); }),
            "S04 job-7: chunk 0: a done item has no outcome");
  EXPECT_EQ(first_of([](ChunkState& state) { state.dead.insert(kSession); }),
            "S07 job-7: chunk 0: lease " + ToString(LeaseId{2, 2}) +
                " belongs to a session that is not alive");
  EXPECT_EQ(first_of([](ChunkState& state) { state.job_state = JobState::kFinished; }),
            "S14 job-7: chunk 0: is not done in a finished job");
}

TEST(CheckCounts, TheStatesMustAddUp) {
  JobCounts counts;
  counts.job.items = 15;
  counts.counts = {15, 1, 2, 3, 4, 5};
  EXPECT_EQ(CheckCounts(counts), std::vector<Breach>());
  counts.counts.running = 4;
  ASSERT_EQ(CheckCounts(counts).size(), 1u);
  EXPECT_EQ(CheckCounts(counts)[0].id, "S12");
  counts.counts.total = 16;
  EXPECT_EQ(CheckCounts(counts).size(), 1u);
  counts.job.items = 16;
  EXPECT_TRUE(CheckCounts(counts).empty());
}

TEST(CheckMove, AJobThatIsOverStaysSoUnlessItIsReopened) {
  const auto is_broken = [](JobMark before, JobMark after) {
    const std::optional<Breach> breach = CheckMove("job-7", before, after);
    EXPECT_TRUE(!breach || breach->id == "S14");
    return breach.has_value();
  };
  using enum JobState;
  EXPECT_FALSE(is_broken({kDraft, 0}, {kActive, 0}));
  EXPECT_FALSE(is_broken({kActive, 0}, {kFinished, 0}));
  EXPECT_FALSE(is_broken({kPaused, 0}, {kActive, 1}));
  EXPECT_FALSE(is_broken({kFinished, 0}, {kFinished, 0}));
  EXPECT_FALSE(is_broken({kFinished, 0}, {kActive, 1}));
  // Between two looks it may have ended again.
  EXPECT_FALSE(is_broken({kFinished, 0}, {kCancelled, 1}));
  EXPECT_TRUE(is_broken({kFinished, 0}, {kActive, 0}));
  EXPECT_TRUE(is_broken({kFinished, 0}, {kCancelling, 0}));
  EXPECT_TRUE(is_broken({kCancelled, 0}, {kActive, 1}));
  EXPECT_TRUE(is_broken({kCancelling, 0}, {kActive, 0}));
  EXPECT_FALSE(is_broken({kCancelling, 0}, {kCancelled, 0}));
  EXPECT_TRUE(is_broken({kActive, 0}, {kDraft, 0}));
  EXPECT_TRUE(is_broken({kActive, 1}, {kActive, 0}));
}

}  // namespace
}  // namespace tidemill
