// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/store_testing.h"

// Items that arrive while their job runs.
namespace tidemill {

inline constexpr Duration kDay = std::chrono::hours(24);

// One item for each mark; an empty one has none.
inline NewItems Arriving(std::initializer_list<const char*> once) {
  NewItems items;
  for (const char* text : once) items.once.push_back(*text == 0 ? "" : MarkOf(text));
  items.cut = [](const std::vector<std::size_t>& places) -> Result<std::vector<NewChunkItems>> {
    return std::vector<NewChunkItems>{{static_cast<std::int32_t>(places.size()), "items"}};
  };
  return items;
}
inline NewItems Keyed(const std::string& key, const std::string& digest, int count) {
  NewItems items;
  items.key = key.empty() ? "" : MarkOf(key);
  items.digest = digest;
  items.chunks = {{count, "items"}};
  return items;
}

TEST_P(StoreTest, ItemsAreAddedToAnOpenJobAndRun) {
  const JobId job = Sealed({.chunks = {2}, .open = true});
  const std::int64_t seen = Must(store().ReadChange()).seq;
  const Added added = Must(standing().AddItems(job, Arriving({"a", "b", "c"})));
  EXPECT_EQ(added.first, 2);
  EXPECT_EQ(added.added, 3);
  EXPECT_EQ(added.known, 0);
  EXPECT_EQ(added.job, Must(store().FindJob(job)));
  EXPECT_EQ(added.job.items, 5);
  EXPECT_EQ(added.job.chunks, 2);
  EXPECT_EQ(added.job.parts, 1);  // parts go on as before
  EXPECT_GT(Must(store().ReadChange()).seq, seen);
  EXPECT_EQ(Must(store().FindItems({job, 1})).body, "items");
  RunAll(job);
  EXPECT_EQ(CountsOf(job).succeeded, 5);
  EXPECT_EQ(Sweep(job), JobState::kActive);
  Must(store().AddPart(job, PartOf(1, {1})));
  EXPECT_EQ(CountsOf(job).waiting, 1);
}

TEST_P(StoreTest, AMarkBecomesOneItemHoweverOftenItIsSaid) {
  const JobId job = Sealed({.chunks = {1}, .open = true});
  Must(standing().AddItems(job, Arriving({"a", "b"})));
  const std::int64_t seen = Must(store().ReadChange()).seq;
  const Added again = Must(standing().AddItems(job, Arriving({"a", "b"})));
  EXPECT_EQ(again.first, std::nullopt);
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.known, 2);
  EXPECT_EQ(again.job.items, 3);
  EXPECT_EQ(Must(store().ReadChange()).seq, seen);
  const Added some = Must(standing().AddItems(job, Arriving({"b", "c", "c", "", ""})));
  EXPECT_EQ(some.first, 3);
  EXPECT_EQ(some.added, 3);
  EXPECT_EQ(some.known, 2);
  // Another job has its own.
  const JobId other = Sealed({.chunks = {1}, .open = true});
  EXPECT_EQ(Must(standing().AddItems(other, Arriving({"a"}))).added, 1);
}

TEST_P(StoreTest, ACallWithAKeyAddsOnceAndIsAnsweredAsTheFirstTime) {
  const JobId job = Sealed({.chunks = {1}, .open = true});
  Must(standing().AddItems(job, Keyed("k", "body", 4)));
  Must(standing().AddItems(job, Keyed("other", "body", 2)));
  const Added again = Must(standing().AddItems(job, Keyed("k", "body", 4)));
  EXPECT_EQ(again.first, 1);
  EXPECT_EQ(again.added, 4);
  EXPECT_EQ(again.known, 0);
  EXPECT_EQ(again.job.items, 7);
  EXPECT_EQ(CodeOfFailed(standing().AddItems(job, Keyed("k", "another body", 4))), Code::kConflict);
  // Without a key each call adds.
  Must(standing().AddItems(job, Keyed("", "", 1)));
  EXPECT_EQ(Must(standing().AddItems(job, Keyed("", "", 1))).job.items, 9);
}

TEST_P(StoreTest, OnlyAnOpenJobThatIsSealedTakesItems) {
  const NewItems one = Arriving({"a"});
  EXPECT_EQ(CodeOfFailed(standing().AddItems({77}, one)), Code::kNotFound);
  const JobId draft = Draft({.open = true});
  EXPECT_EQ(CodeOfFailed(standing().AddItems(draft, one)), Code::kConflict);
  const JobId shut = Sealed();
  EXPECT_EQ(CodeOfFailed(standing().AddItems(shut, one)), Code::kConflict);
  const JobId paused = Sealed({.chunks = {1}, .open = true});
  Must(store().PauseJob(paused, ""));
  EXPECT_EQ(Must(standing().AddItems(paused, one)).added, 1);
  Must(store().CloseJob(paused));
  EXPECT_EQ(CodeOfFailed(standing().AddItems(paused, Arriving({"b"}))), Code::kConflict);
  // A copy of a call that came before is told that all is there.
  EXPECT_EQ(Must(standing().AddItems(paused, one)).known, 1);
  const JobId cancelled = Sealed({.chunks = {1}, .open = true});
  Must(store().CancelJob(cancelled));
  EXPECT_EQ(CodeOfFailed(standing().AddItems(cancelled, one)), Code::kConflict);
}

TEST_P(StoreTest, WhatCannotBeCutAddsNothing) {
  const JobId job = Sealed({.chunks = {1}, .open = true});
  NewItems bad = Arriving({"a"});
  bad.cut = [](const auto&) { return Fail(Code::kInvalid, "no"); };
  EXPECT_EQ(CodeOfFailed(standing().AddItems(job, bad)), Code::kInvalid);
  EXPECT_EQ(Must(standing().AddItems(job, Arriving({"a"}))).added, 1);
}

TEST_P(StoreTest, MarksThatNobodySaysAreForgotten) {
  const JobId job = Sealed({.chunks = {1}, .open = true});
  Must(standing().AddItems(job, Arriving({"old", "said", "older"})));
  Must(standing().AddItems(job, Keyed("old", "body", 1)));
  Must(standing().AddItems(job, Keyed("said", "body", 1)));
  Age(kDay * 10);
  Must(standing().AddItems(job, Arriving({"said"})));
  Must(standing().AddItems(job, Keyed("said", "body", 1)));
  Age(kDay * 5);
  EXPECT_EQ(Must(standing().ForgetMarks(kMarkAge, 100)), 0);
  Age(kDay);
  // An item's, a call's, and a part.
  EXPECT_EQ(Must(standing().ForgetMarks(kMarkAge, 1)), 3);
  EXPECT_EQ(Must(standing().ForgetMarks(kMarkAge, 100)), 1);
  EXPECT_EQ(Must(standing().ForgetMarks(kMarkAge, 100)), 0);
  EXPECT_EQ(Must(standing().AddItems(job, Arriving({"old", "said"}))).known, 1);
  EXPECT_EQ(Must(standing().AddItems(job, Keyed("said", "body", 1))).first, 5);
  EXPECT_EQ(Must(standing().AddItems(job, Keyed("old", "other", 1))).added, 1);
}

// What is over is rolled up, and its record written.
inline void WriteLedger(Store& store, LedgerStore& ledger, JobId job) {
  Must(store.RollUp(100, JoinBodies));
  for (const ChunkStat& stat : Must(ledger.ListLedgerStats(100))) Must(ledger.MarkLedgerStat(stat));
  Must(ledger.MarkLedgerItems(job, Must(store.FindJob(job)).chunks));
}
inline constexpr PackAges kAtOnce{};

TEST_P(StoreTest, WhatIsDoneAndWrittenIsPackedAway) {
  const JobId job = Sealed({.chunks = {2}, .open = true});
  Must(standing().AddItems(job, Arriving({"a"})));
  EXPECT_EQ(Must(standing().ListPackable(kAtOnce, 9)), std::vector<JobId>());
  RunAll(job);
  Must(store().RollUp(100, JoinBodies));
  EXPECT_EQ(Must(standing().ListPackable(kAtOnce, 9)), std::vector<JobId>{job});
  EXPECT_EQ(Must(standing().PackChunks(job, kAtOnce, 9)).chunks, 0);
  for (const ChunkStat& stat : Must(ledger().ListLedgerStats(100))) {
    Must(ledger().MarkLedgerStat(stat));
  }
  EXPECT_EQ(Must(standing().PackChunks(job, kAtOnce, 9)).chunks, 0);
  Must(ledger().MarkLedgerItems(job, 1));
  EXPECT_EQ(Must(standing().PackChunks(job, {.done = kLong}, 9)).chunks, 0);
  EXPECT_EQ(Must(standing().PackChunks(job, kAtOnce, 9)), (PackedAway{1, {2, 0}}));
  EXPECT_EQ(DumpOf(job).chunks.size(), 1u);
  Must(ledger().MarkLedgerItems(job, 2));
  Age(kLong);
  EXPECT_EQ(Must(standing().ListPackable({.done = kLong}, 9)), std::vector<JobId>{job});
  EXPECT_EQ(Must(standing().PackChunks(job, {.done = kLong}, 9)), (PackedAway{1, {1, 0}}));
  EXPECT_EQ(Must(standing().FindPacked(job)), (PackedItems{3, 0}));
  const JobDump dump = DumpOf(job);
  EXPECT_TRUE(dump.chunks.empty() && dump.stats.empty() && dump.tries.empty());
  EXPECT_EQ(CountsOf(job), (Counts{.total = 3, .succeeded = 3}));
  EXPECT_EQ(Must(store().ListChunks(job, {})).size(), 0u);
  EXPECT_EQ(CodeOfFailed(store().FindItems({job, 0})), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().FindHistory({job, 1})), Code::kNotFound);
  // It goes on behind them.
  EXPECT_EQ(Must(standing().AddItems(job, Arriving({"a", "b"}))).first, 3);
  RunAll(job);
  EXPECT_EQ(CountsOf(job), (Counts{.total = 4, .succeeded = 4}));
  Must(store().CloseJob(job));
  EXPECT_EQ(Sweep(job), JobState::kFinished);
}

TEST_P(StoreTest, WhatFailedStaysLongerAndCanBeSentAgain) {
  const JobId job = Sealed({.chunks = {2, 2}, .open = true});
  RunAll(job, Items({1}));
  WriteLedger(store(), ledger(), job);
  const PackAges ages{.done = {}, .failed = kLong};
  EXPECT_EQ(Must(standing().PackChunks(job, ages, 9)).chunks, 0);
  EXPECT_EQ(Must(store().ReopenJob(job, {.items = {1}})).items, 1);
  // What runs again is not done, whatever its age was.
  Age(kLong);
  EXPECT_EQ(Must(standing().PackChunks(job, ages, 1)), (PackedAway{1, {2, 1}}));
  EXPECT_EQ(Must(standing().PackChunks(job, ages, 9)).chunks, 0);
  RunAll(job);
  WriteLedger(store(), ledger(), job);
  EXPECT_EQ(Must(standing().PackChunks(job, ages, 9)), (PackedAway{1, {2, 0}}));
  EXPECT_EQ(CountsOf(job), (Counts{.total = 4, .succeeded = 3, .failed = 1}));
  EXPECT_EQ(CodeOfFailed(store().ReopenJob(job, {.items = {3}})), Code::kConflict);
  EXPECT_EQ(Must(store().ReopenJob(job, {})).items, 0);
}

TEST_P(StoreTest, OnlyOpenJobsThatRunArePacked) {
  const JobId shut = Sealed({.chunks = {2}});
  RunAll(shut);
  WriteLedger(store(), ledger(), shut);
  const JobId closed = Sealed({.chunks = {2}, .open = true});
  RunAll(closed);
  WriteLedger(store(), ledger(), closed);
  Must(store().CloseJob(closed));
  EXPECT_EQ(Must(standing().ListPackable(kAtOnce, 9)), std::vector<JobId>());
  EXPECT_EQ(Must(standing().PackChunks(shut, kAtOnce, 9)).chunks, 0);
  EXPECT_EQ(Must(standing().PackChunks(closed, kAtOnce, 9)).chunks, 0);
}

TEST_P(StoreTest, PartsOfOpenJobsAreForgotten) {
  const JobId job = Sealed({.chunks = {1}, .open = true});
  const JobId shut = Sealed({.chunks = {1}});
  Age(kDay * 16);
  Must(store().AddPart(job, PartOf(1, {1}, "new")));
  EXPECT_EQ(Must(standing().ForgetMarks(kMarkAge, 100)), 1);
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(0, {1}))), Code::kConflict);
  EXPECT_EQ(Must(store().AddPart(job, PartOf(1, {1}, "new"))).parts, 2);
  EXPECT_EQ(Must(store().AddPart(shut, PartOf(0, {1}))).parts, 1);
}

}  // namespace tidemill
