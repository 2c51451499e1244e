// SPDX-License-Identifier: Apache-2.0
#include "agent/work.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "report/block.h"

namespace tidemill {
namespace {

constexpr JobId kWorkJob{7};

Grant MakeGrant(std::uint64_t id, int chunk, Bits mine) {
  Grant grant;
  grant.lease.id = LeaseId{1, id};
  grant.lease.chunk = {kWorkJob, chunk};
  grant.lease.mine = mine;
  grant.first_item = chunk * 100;
  return grant;
}

Outcome OutcomeOf(const Attempt& attempt, Cause cause = Cause::kSucceeded) {
  Outcome outcome;
  outcome.item = attempt.item;
  outcome.attempt = attempt.number;
  outcome.cause = cause;
  return outcome;
}

TEST(Work, HandsOutEachItemOfALeaseOnce) {
  Work work(0);
  ASSERT_TRUE(work.Add(MakeGrant(1, 0, Bits::Range(10, 2, 3))));
  EXPECT_FALSE(work.Add(MakeGrant(1, 0, Bits::All(10))));
  EXPECT_FALSE(work.Pick({kWorkJob}));  // not ready
  work.MakeReady({1, 1});
  for (const int offset : {2, 3, 4}) {
    const auto attempt = work.Pick({kWorkJob});
    ASSERT_TRUE(attempt);
    EXPECT_EQ(attempt->item, offset);
    EXPECT_EQ(attempt->number, 1);
    EXPECT_TRUE(work.Runs(attempt->key));
  }
  EXPECT_FALSE(work.Pick({kWorkJob}));
  EXPECT_EQ(work.loads().at({kWorkJob}).running, 3);
}

TEST(Work, KnowsWhatBecomesOfAnItem) {
  using State = Work::ItemState;
  Work work(0);
  work.Add(MakeGrant(1, 3, Bits::Range(10, 5, 2)));
  work.Add(MakeGrant(2, 3, Bits::Range(10, 8, 1)));
  work.MakeReady({1, 1});
  const auto attempt = work.Pick({kWorkJob});
  EXPECT_EQ(work.StateOf(kWorkJob, 305), State::kRuns);
  EXPECT_EQ(work.StateOf(kWorkJob, 306), State::kWaits);
  EXPECT_EQ(work.StateOf(kWorkJob, 308), State::kWaits);
  for (const std::int64_t item : {0, 299, 304, 307, 310}) {
    EXPECT_EQ(work.StateOf(kWorkJob, item), State::kNotHeld) << item;
  }
  EXPECT_EQ(work.StateOf({kWorkJob.number + 1}, 305), State::kNotHeld);
  work.Finish(attempt->key, OutcomeOf(*attempt));
  EXPECT_EQ(work.StateOf(kWorkJob, 305), State::kNotHeld);
}

TEST(Work, CountsTheAttemptsThatCameBefore) {
  Work work(0);
  Grant grant = MakeGrant(1, 3, Bits::Range(10, 5, 1));
  grant.tries = {{.job = kWorkJob, .item = 305, .attempts = 2}};
  work.Add(grant);
  work.MakeReady({1, 1});
  EXPECT_EQ(work.Pick({kWorkJob})->number, 3);
}

TEST(Work, SaysTheSameUntilItIsHeardAndTheRestWithTheNext) {
  Work work(65'536);
  work.Add(MakeGrant(1, 0, Bits::Range(10, 0, 3)));
  work.MakeReady({1, 1});
  const Attempt first = *work.Pick({kWorkJob});
  const Attempt second = *work.Pick({kWorkJob});
  const Attempt third = *work.Pick({kWorkJob});
  work.Finish(first.key, OutcomeOf(first));
  EXPECT_FALSE(work.has_whole_lease());
  ASSERT_EQ(work.Unsaid().size(), 1U);
  const std::string body = work.Unsaid().front().body;
  EXPECT_EQ(work.Unsaid().front().seq, 65'536);

  work.Finish(second.key, OutcomeOf(second, Cause::kFailed));
  work.Finish(third.key, OutcomeOf(third));
  EXPECT_TRUE(work.has_whole_lease());
  ASSERT_EQ(work.Unsaid().size(), 2U);
  EXPECT_EQ(work.Unsaid().front().body, body);
  EXPECT_EQ(work.Unsaid().back().seq, 65'537);
  EXPECT_EQ(work.Unsaid().back().ok.Indexes(), std::vector<int>{2});
  EXPECT_EQ(work.Unsaid().back().failed.Indexes(), std::vector<int>{1});
  EXPECT_EQ(DecodeBlock(work.Unsaid().back().body)->size(), 2U);

  // Only the first was heard: the lease is held until the second is.
  work.Heard(1);
  EXPECT_EQ(work.Known().size(), 1U);
  EXPECT_TRUE(work.has_news());
  work.Heard(1);
  EXPECT_TRUE(work.Known().empty());
  EXPECT_FALSE(work.has_news());
  EXPECT_TRUE(work.loads().empty());
}

TEST(Work, AnItemThatDidNotRunAfterAllWaitsAgain) {
  Work work(0);
  work.Add(MakeGrant(1, 0, Bits::Range(10, 0, 1)));
  work.MakeReady({1, 1});
  const Attempt attempt = *work.Pick({kWorkJob});
  work.PutBack(attempt.key);
  EXPECT_FALSE(work.Runs(attempt.key));
  EXPECT_EQ(work.loads().at({kWorkJob}).ready, 1);
  EXPECT_EQ(work.Pick({kWorkJob})->item, attempt.item);
}

TEST(Work, GivesBackWhatWaitsAndKeepsWhatRuns) {
  Work work(0);
  work.Add(MakeGrant(1, 0, Bits::Range(10, 0, 3)));
  work.MakeReady({1, 1});
  const Attempt running = *work.Pick({kWorkJob});
  work.GiveBack(kWorkJob);
  EXPECT_FALSE(work.Pick({kWorkJob}));
  EXPECT_TRUE(work.Runs(running.key));
  EXPECT_EQ(work.Unsaid().front().back.Indexes(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(work.Unsaid().front().body.empty());
  work.Heard(1);
  EXPECT_TRUE(work.Holds({1, 1}));
}

TEST(Work, WhatAnEndCostsGoesByItsCause) {
  Work work(0);
  work.Add(MakeGrant(1, 2, Bits::Range(10, 0, 7)));
  work.MakeReady({1, 1});
  const auto end = [&work](Cause cause, bool final = false) {
    const Attempt attempt = *work.Pick({kWorkJob});
    work.Finish(attempt.key, OutcomeOf(attempt, cause), final);
  };
  end(Cause::kSucceeded);
  end(Cause::kFailed);
  end(Cause::kTimeout, true);
  end(Cause::kOutOfMemory);
  end(Cause::kInterrupted);
  end(Cause::kMachineFault);
  work.Return(work.Pick({kWorkJob})->key);
  EXPECT_TRUE(work.has_whole_lease());
  ASSERT_EQ(work.Unsaid().size(), 1U);
  const Settlement& said = work.Unsaid().front();
  EXPECT_EQ(said.ok.Indexes(), std::vector<int>{0});
  EXPECT_EQ(said.failed.Indexes(), (std::vector<int>{1, 2}));
  EXPECT_EQ(said.final.Indexes(), std::vector<int>{2});
  EXPECT_EQ(said.memory.Indexes(), std::vector<int>{3});
  EXPECT_EQ(said.back.Indexes(), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(said.begun.Indexes(), (std::vector<int>{4, 5}));
  EXPECT_EQ(DecodeBlock(said.body)->size(), 6U);
  work.Heard(1);
  EXPECT_FALSE(work.Holds({1, 1}));
}

TEST(Work, AnItemThatHadBegunIsToldWhenItGoesBackUnlessItRanAgain) {
  Work work(0);
  work.Add(MakeGrant(1, 0, Bits::Range(10, 0, 3)));
  work.MakeReady({1, 1});
  for (int i = 0; i < 2; ++i) {
    const Attempt attempt = *work.Pick({kWorkJob});
    ASSERT_EQ(attempt.item, 0);
    work.PutBack(attempt.key, OutcomeOf(attempt, Cause::kMachineFault));
  }
  const Attempt again = *work.Pick({kWorkJob});
  const Attempt other = *work.Pick({kWorkJob});
  work.PutBack(other.key, OutcomeOf(other, Cause::kMachineFault));
  work.GiveBack(kWorkJob);
  work.Finish(again.key, OutcomeOf(again));
  const Settlement& said = work.Unsaid().front();
  EXPECT_EQ(said.ok.Indexes(), std::vector<int>{0});
  EXPECT_EQ(said.back.Indexes(), (std::vector<int>{1, 2}));
  EXPECT_EQ(said.begun.Indexes(), std::vector<int>{1});
  EXPECT_EQ(DecodeBlock(said.body)->size(), 2U);
  work.Heard(1);
  EXPECT_FALSE(work.has_news());
  EXPECT_FALSE(work.Holds({1, 1}));
}

TEST(Work, ItemsThatNeedOtherMemoryAreKeptApart) {
  Work work(0);
  Grant grant = MakeGrant(1, 0, Bits::Range(10, 0, 1));
  grant.lease.memory_bytes = 4096;
  work.Add(grant);
  work.Add(MakeGrant(2, 1, Bits::Range(10, 0, 1)));
  work.MakeReady({1, 1});
  work.MakeReady({1, 2});
  EXPECT_EQ(work.loads().size(), 2U);
  EXPECT_EQ(work.Pick({kWorkJob})->item, 100);
  EXPECT_FALSE(work.Pick({kWorkJob}));
  const auto more = work.Pick({kWorkJob, 4096});
  ASSERT_TRUE(more);
  EXPECT_EQ(more->item, 0);
  EXPECT_EQ(more->memory_bytes, 4096);
  work.PutBack(more->key);
  work.GiveBack(LeaseId{1, 1});
  EXPECT_EQ(work.loads().size(), 1U);
  EXPECT_TRUE(work.HasUnfinished(kWorkJob));
  EXPECT_FALSE(work.HasUnfinished({kWorkJob.number - 1}));
}

TEST(Work, OnesThatMustRunAloneComeFirst) {
  Work work(0);
  work.Add(MakeGrant(1, 0, Bits::Range(10, 0, 2)));
  work.Add(MakeGrant(2, 1, Bits::Range(10, 0, 2)));
  work.MakeReady({1, 1});
  work.MakeReady({1, 2});
  for (int i = 0; i < 3; ++i) work.Pick({kWorkJob});
  const Attempt last = *work.Pick({kWorkJob});
  work.PutBack(ItemKey{{1, 1}, 0});
  work.PutBack(last.key, std::nullopt, true);
  EXPECT_EQ(work.loads().at({kWorkJob}).alone, 1);
  const Attempt alone = *work.Pick({kWorkJob});
  EXPECT_EQ(alone.item, last.item);
  EXPECT_TRUE(alone.alone);
  EXPECT_EQ(work.loads().at({kWorkJob}).alone, 0);
  const Attempt other = *work.Pick({kWorkJob});
  EXPECT_EQ(other.item, 0);
  EXPECT_FALSE(other.alone);
  // It stays so as long as its lease is held.
  work.PutBack(alone.key);
  EXPECT_TRUE(work.Pick({kWorkJob})->alone);
}

TEST(Work, SaysWhatIsTooLongForOneReportInSeveral) {
  Work work(0);
  constexpr int kItems = 300;
  work.Add(MakeGrant(1, 0, Bits::All(kItems)));
  work.MakeReady({1, 1});
  for (int i = 0; i < kItems; ++i) {
    const Attempt attempt = *work.Pick({kWorkJob});
    Outcome outcome = OutcomeOf(attempt, i % 2 == 0 ? Cause::kSucceeded : Cause::kFailed);
    outcome.result.resize(kResultBytes);
    // No two are alike, so that they cannot be packed.
    for (char& c : outcome.result) c = static_cast<char>(std::rand());
    work.Finish(attempt.key, outcome, i % 2 == 1);
  }
  const std::deque<Settlement> said = work.Unsaid();
  EXPECT_GT(said.size(), 2u);
  Bits told(limits::kItemsPerChunk);
  Bits final(limits::kItemsPerChunk);
  std::size_t rows = 0;
  for (const Settlement& settlement : said) {
    EXPECT_LE(settlement.body.size(), limits::kReportBytes);
    EXPECT_TRUE((told & (settlement.ok | settlement.failed)).None());
    EXPECT_TRUE((settlement.final - settlement.failed).None());
    told |= settlement.ok | settlement.failed;
    final |= settlement.final;
    rows += DecodeBlock(settlement.body).value().size();
  }
  EXPECT_EQ(told.Count(), kItems);
  EXPECT_EQ(final.Count(), kItems / 2);
  EXPECT_EQ(rows, std::size_t{kItems});
  work.Heard(said.size());
  EXPECT_EQ(work.leases(), 0u);
  EXPECT_FALSE(work.has_news());
}

TEST(Work, SaysNothingMoreOfALeaseThatIsGone) {
  Work work(0);
  work.Add(MakeGrant(1, 0, Bits::Range(10, 0, 3)));
  work.Add(MakeGrant(2, 1, Bits::Range(10, 0, 1)));
  work.MakeReady({1, 1});
  const Attempt first = *work.Pick({kWorkJob});
  const Attempt second = *work.Pick({kWorkJob});
  work.Finish(first.key, OutcomeOf(first));
  (void)work.Unsaid();
  work.Finish(second.key, OutcomeOf(second));
  work.Drop({1, 1});
  EXPECT_TRUE(work.Unsaid().empty());
  EXPECT_FALSE(work.has_news());
  EXPECT_FALSE(work.Runs(second.key));
  work.Finish(second.key, OutcomeOf(second));
  EXPECT_FALSE(work.has_news());
  EXPECT_EQ(work.Known().size(), 1U);
  EXPECT_EQ(work.loads().at({kWorkJob}).waiting, 1);
}

}  // namespace
}  // namespace tidemill
