// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "store/rules.h"
#include "store/store_testing.h"

// What a report does, and when it is not believed.
namespace tidemill {

TEST_P(StoreTest, SuccessesAreRecordedAndTheRestStaysLeased) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 6);
  const ExchangeResult result = Run({Tells(lease.session, lease.id, {.ok = Items({0, 2})})});
  EXPECT_EQ(result.outcomes, 2);
  EXPECT_TRUE(result.freed.empty());
  EXPECT_EQ(ChunkOf(job).done, In(8, {0, 2}));
  EXPECT_EQ(ChunkOf(job).leased, In(8, {1, 3, 4, 5}));
  EXPECT_EQ(DumpOf(job).leases.at(0).mine, In(8, {1, 3, 4, 5}));
}

TEST_P(StoreTest, AReportIsKeptWithWhatItSettled) {
  const JobId job = Sealed({.retries = 1});
  const Lease lease = Take(Joined(), job, 4);
  Tell(lease, {.seq = 3, .ok = Items({0}), .failed = Items({1}), .back = Items({2}), .body = "x"});
  const Report report = Must(store().ListReports({job, 0})).at(0);
  EXPECT_EQ(report,
            (Report{lease.id, 3, {job, 0}, 0, ReportKind::kAgent, In(8, {0, 1}), In(8, {0}), "x"}));
}

TEST_P(StoreTest, ALeaseThatOwesNothingIsGone) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  EXPECT_EQ(Tell(lease, {.ok = Upto(4)}).gone, std::vector<LeaseId>{lease.id});
  EXPECT_TRUE(DumpOf(job).leases.empty());
}

TEST_P(StoreTest, TheChunksLastOutcomeIsAnnounced) {
  const JobId job = Sealed({.chunks = {2, 2}});
  const Lease lease = Take(Joined(), job, 2);
  EXPECT_TRUE(Run({Tells(lease.session, lease.id, {.ok = Items({0})})}).chunk_done.empty());
  EXPECT_EQ(Run({Tells(lease.session, lease.id, {.seq = 1, .ok = Items({1})})}).chunk_done,
            std::vector<JobId>{job});
}

TEST_P(StoreTest, AFailureIsTriedAgainAndCounted) {
  const JobId job = Sealed({.chunks = {2}, .retries = 1});
  const Lease lease = Take(Joined(), job, 2);
  const ExchangeResult first =
      Run({Tells(lease.session, lease.id, {.ok = Items({0}), .failed = Items({1})})});
  EXPECT_EQ(first.outcomes, 1);
  EXPECT_EQ(first.freed, std::vector<JobId>{job});
  const SyncResult again = Sync(Asks(Joined(), job, 2));
  ASSERT_EQ(again.grants.size(), 1u);
  EXPECT_EQ(again.grants[0].lease.mine, In(2, {1}));
  EXPECT_EQ(again.grants[0].tries, (std::vector<ItemTry>{{job, 1, 1, 0}}));
}

TEST_P(StoreTest, WithoutRetriesLeftAFailureIsTheOutcome) {
  const JobId job = Sealed({.chunks = {2}, .retries = 1});
  for (int attempt = 1; attempt <= 2; ++attempt) {
    EXPECT_EQ(ChunkOf(job).failed, In(2, {}));
    Tell(Take(Joined(), job, 1), {.failed = Items({0})});
  }
  EXPECT_EQ(ChunkOf(job).failed, In(2, {0}));
  EXPECT_EQ(CountsOf(job).failed, 1);
  EXPECT_EQ(DumpOf(job).tries, (std::vector<ItemTry>{{job, 0, 2, 0}}));
}

TEST_P(StoreTest, WhatComesBackIsFreeAndCostsNoAttempt) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  const ExchangeResult result = Run({Tells(lease.session, lease.id, {.back = Upto(4)})});
  EXPECT_EQ(result.freed, std::vector<JobId>{job});
  EXPECT_EQ(result.outcomes, 0);
  EXPECT_EQ(ChunkOf(job), NewChunk({job, 0}, 0, 8));
  EXPECT_TRUE(DumpOf(job).reports.empty());
  EXPECT_TRUE(DumpOf(job).tries.empty());
}

TEST_P(StoreTest, WhatIsSaidToHaveEndedInTwoWaysIsRefused) {
  const JobId job = Sealed({.chunks = {3}, .retries = 1});
  const Lease lease = Take(Joined(), job, 3);
  const StoreState before = All();
  const Bits all = Upto(3), one = Items({1});
  for (const Settles& lie :
       {Settles{.ok = all, .failed = one}, Settles{.ok = all, .memory = one},
        Settles{.back = one, .memory = all}, Settles{.ok = one, .back = all},
        Settles{.failed = one, .back = all}, Settles{.failed = one, .memory = one}}) {
    EXPECT_EQ(Tell(lease, lie).refused,
              (std::vector<Refusal>{{lease.id, 0, "an item is said to have ended in two ways"}}));
  }
  EXPECT_EQ(Tell(lease, {.failed = one, .final = all}).refused.at(0).reason,
            "an item is final and has not failed");
  EXPECT_EQ(Tell(lease, {.back = one, .begun = all}).refused.at(0).reason,
            "an item had begun and does not come back");
  EXPECT_EQ(All(), before);
}

TEST_P(StoreTest, ACopyOfAReportChangesNothing) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  const SyncOrder order = Tells(lease.session, lease.id, {.ok = Items({0}), .failed = Items({1})});
  Sync(order);
  const StoreState before = All();
  const ExchangeResult copy = Run({order, order});
  EXPECT_EQ(copy.outcomes, 0);
  EXPECT_TRUE(copy.syncs[0].refused.empty());
  EXPECT_EQ(All(), before);
}

TEST_P(StoreTest, ReportsMayComeInAnyOrderAndOverlap) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  Tell(lease, {.seq = 1, .ok = Items({0, 1})});
  Tell(lease, {.seq = 0, .ok = Items({1, 2})});
  const std::vector<Report> reports = Must(store().ListReports({job, 0}));
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].ended, In(8, {2}));  // seq 0 came late: item 1 had its outcome
  EXPECT_EQ(reports[1].ended, In(8, {0, 1}));
}

TEST_P(StoreTest, TwoReportsOfOneSyncBothCount) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  SyncOrder order = Tells(lease.session, lease.id, {.seq = 0, .ok = Items({0})});
  order.settlements.push_back(
      Settle(lease.id, {.seq = 1, .ok = Items({1}), .back = Items({2, 3})}));
  EXPECT_EQ(Run({order}).outcomes, 2);
  EXPECT_TRUE(DumpOf(job).leases.empty());
}

TEST_P(StoreTest, AnOffsetPastTheEndIsRefused) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  const StoreState before = All();
  for (const Settles& lie : {Settles{.ok = Items({0, 8})}, Settles{.failed = Items({2047})},
                             Settles{.back = Items({9})}, Settles{.memory = Items({8})}}) {
    const SyncResult result = Tell(lease, lie);
    ASSERT_EQ(result.refused.size(), 1u);
    EXPECT_EQ(result.refused[0].lease, lease.id);
  }
  EXPECT_EQ(All(), before);
}

TEST_P(StoreTest, ANegativeSeqIsRefused) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  EXPECT_EQ(Tell(lease, {.seq = kReaperSeq, .ok = Items({0})}).refused.size(), 1u);
  EXPECT_TRUE(ChunkOf(job).done.None());
}

TEST_P(StoreTest, ABodyThatIsTooLargeForItsItemsIsRefused) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  const std::string most(kReportFrameBytes + 2 * kReportItemBytes, 'b');
  const StoreState before = All();
  EXPECT_EQ(
      Tell(lease, {.ok = Items({0}), .failed = Items({1}), .body = most + "b"}).refused,
      (std::vector<Refusal>{{lease.id, 0, "the body is too large for the items it settles"}}));
  EXPECT_EQ(All(), before);
  // Of two things that are wrong the first is named, in every store.
  EXPECT_EQ(Tell(lease, {.seq = -1, .body = most}).refused.at(0).reason, "a seq counts from 0");
  EXPECT_TRUE(Tell(lease, {.ok = Items({0}), .failed = Items({1}), .body = most}).refused.empty());
  EXPECT_EQ(ChunkOf(job).done, In(8, {0, 1}));
}

TEST_P(StoreTest, ASeqThatWasUsedForOtherItemsIsRefused) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  Tell(lease, {.ok = Items({0})});
  const SyncResult result = Tell(lease, {.ok = Items({0, 1})});
  EXPECT_EQ(result.refused, (std::vector<Refusal>{{lease.id, 0, kSeqTaken}}));
  EXPECT_EQ(ChunkOf(job).done, In(8, {0}));
  // The same in one sync, and in two syncs of one batch.
  SyncOrder twice = Tells(lease.session, lease.id, {.seq = 1, .ok = Items({1})});
  twice.settlements.push_back(Settle(lease.id, {.seq = 1, .ok = Items({2})}));
  EXPECT_EQ(Sync(twice).refused.size(), 1u);
  const ExchangeResult batch = Run({Tells(lease.session, lease.id, {.seq = 2, .ok = Items({2})}),
                                    Tells(lease.session, lease.id, {.seq = 2, .ok = Items({3})})});
  EXPECT_EQ(batch.syncs[1].refused.size(), 1u);
  EXPECT_EQ(ChunkOf(job).done, In(8, {0, 1, 2}));
}

TEST_P(StoreTest, ReturnsNeedNoSeqOfTheirOwn) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  Tell(lease, {.ok = Items({0})});
  EXPECT_TRUE(Tell(lease, {.back = Items({1})}).refused.empty());
  EXPECT_EQ(ChunkOf(job).leased, In(8, {2, 3}));
}

TEST_P(StoreTest, ItemsThatTheLeaseDoesNotOweAreNotBelieved) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 2);
  const Lease other = Take(Joined(), job, 2);
  Tell(lease, {.ok = Upto(8)});
  EXPECT_EQ(ChunkOf(job).done, In(8, {0, 1}));
  EXPECT_EQ(ChunkOf(job).leased, other.mine);
}

TEST_P(StoreTest, ALeaseOfAnotherSessionIsNotBelieved) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  const StoreState before = All();
  const SyncResult alone = Sync(Tells(Joined(), lease.id, {.ok = Upto(4)}));
  EXPECT_EQ(alone.gone, std::vector<LeaseId>{lease.id});
  EXPECT_TRUE(alone.grants.empty());
  // Also when the owner is in the same batch.
  Run({Tells(Joined(), lease.id, {.ok = Upto(4)}), From(lease.session, {lease.id})});
  EXPECT_EQ(All().jobs, before.jobs);
}

TEST_P(StoreTest, ALeaseThatNeverWasIsGone) {
  Sealed();
  const LeaseId lease = NewLeaseId();
  EXPECT_EQ(Sync(Tells(Joined(), lease, {.ok = Upto(4)})).gone, std::vector<LeaseId>{lease});
}

}  // namespace tidemill
