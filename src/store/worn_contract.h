// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "store/store_testing.h"

// What servers need of an exchange to grant inside a plan: what a session has and owes, and leases
// of items that were interrupted often, or of no such ones.
namespace tidemill {

// Asks for items of one kind.
class WornTest : public StoreTest {
 protected:
  static constexpr WornItems kAlso = WornItems::kAlso, kOnly = WornItems::kOnly,
                             kNot = WornItems::kNot;
  SyncOrder AsksFor(WornItems worn, JobId job, int items) {
    SyncOrder order = Asks(Joined(), job, items);
    order.asks[0].worn = worn;
    return order;
  }
  Bits Given(WornItems worn, JobId job, int items = 8) {
    const SyncResult result = Sync(AsksFor(worn, job, items));
    return result.grants.empty() ? Bits() : result.grants[0].lease.mine;
  }
  // The first items of its first chunk are suspects: twice they were on a machine that vanished.
  JobId WithSuspects(int count, const JobShape& shape) {
    const JobId job = Sealed(shape);
    for (int i = 0; i < 2; ++i) {
      const SessionId session = Joined();
      std::vector<Lease> leases;
      while (ChunkOf(job).Free().Any()) leases.push_back(Take(session, job, 64));
      for (const Lease& lease : leases) {
        Tell(lease, {.back = lease.mine.Resized(limits::kItemsPerChunk) - Upto(count)});
      }
      SyncOrder last = From(session, LeasesOf(session));
      last.life = kOver;
      Sync(last);
      Must(store().Reap(100));
    }
    EXPECT_EQ(ChunkOf(job).suspect.Count(), count);
    return job;
  }
};

TEST_P(StoreTest, ASyncIsToldWhereItsSessionIsAndWhatItOwes) {
  NewSession session;
  session.id = {7, 7};
  session.machine = "m";
  session.project = "p";
  session.pool = "spot";
  session.shape = {4000, kGiB, {{"example.com/gpu", 2}}};
  session.life = kLong;
  session.token = kToken;
  Must(store().Join(session));
  SyncResult result = Sync(From(session.id));
  EXPECT_EQ(result.pool, "spot");
  EXPECT_EQ(result.shape, session.shape);
  EXPECT_TRUE(result.owed.empty());
  const JobId a = Sealed({.chunks = {8}}), b = Sealed({.chunks = {8}});
  const Lease first = Take(session.id, a, 5);
  const Lease second = Take(session.id, a, 2);
  // After what is settled and granted by this very sync.
  SyncOrder order = From(session.id, {first.id, second.id});
  order.settlements = {Settle(first.id, {.ok = Items({0, 1})}),
                       Settle(second.id, {.back = Upto(7)})};
  order.asks = {{b, 3, NewLeaseId()}};
  result = Sync(order);
  EXPECT_EQ(result.owed, (std::map<JobId, std::int64_t>{{a, 3}, {b, 3}}));
  // Whoever speaks for the session, and nobody else.
  SyncOrder stranger = From(session.id);
  stranger.token = "another's";
  const ExchangeResult both =
      Run({From(Joined()), From(session.id, LeasesOf(session.id)), stranger});
  EXPECT_TRUE(both.syncs[0].owed.empty());
  EXPECT_EQ(both.syncs[0].pool, "pool");
  EXPECT_EQ(both.syncs[1].owed, result.owed);
  EXPECT_TRUE(both.syncs[2].lost);
  EXPECT_TRUE(both.syncs[2].owed.empty());
  EXPECT_EQ(both.syncs[2].pool, "");
  order = From(session.id);
  order.leaving = true;
  EXPECT_TRUE(Sync(order).owed.empty());
}

TEST_P(WornTest, SuspectsGoToThoseThatAskForThem) {
  const JobId job = WithSuspects(2, {.chunks = {6, 6}});
  EXPECT_EQ(Given(kOnly, job), In(6, {0}));  // alone, as ever
  EXPECT_EQ(Given(kNot, job, 64), In(6, {2, 3, 4, 5}));
  EXPECT_EQ(Given(kNot, job, 64), Bits::All(6));  // of the next chunk
  const ExchangeResult none = Run({AsksFor(kNot, job, 8)});
  EXPECT_TRUE(none.syncs[0].grants.empty());
  EXPECT_TRUE(none.dry.empty());  // a suspect waits
  EXPECT_TRUE(none.freed.empty());
  EXPECT_EQ(Given(kAlso, job), In(6, {1}));
  const ExchangeResult over = Run({AsksFor(kOnly, job, 8)});
  EXPECT_TRUE(over.syncs[0].grants.empty());
  EXPECT_TRUE(over.dry.empty());
  EXPECT_EQ(Run({AsksFor(kAlso, job, 8)}).dry, std::vector<JobId>{job});
}

TEST_P(WornTest, WhoAsksForSuspectsOnlyIsServedFirst) {
  const JobId job = WithSuspects(1, {.chunks = {1, 3}});
  const ExchangeResult result =
      Run({AsksFor(kAlso, job, 8), AsksFor(kNot, job, 1), AsksFor(kOnly, job, 8)});
  EXPECT_EQ(result.syncs[2].grants.at(0).lease.chunk.chunk, 0);
  EXPECT_EQ(result.syncs[0].grants.at(0).lease.mine, Bits::All(3));
  EXPECT_TRUE(result.syncs[1].grants.empty());
  EXPECT_TRUE(result.dry.empty());
  EXPECT_EQ(result.cursors, (std::map<JobId, std::int32_t>{{job, 1}}));
}

TEST_P(WornTest, SuspectsAreFoundWhereverTheCursorIs) {
  const JobId job = WithSuspects(1, {.chunks = {1, 3, 3}});
  Exchange exchange;
  exchange.syncs = {AsksFor(kNot, job, 8), AsksFor(kOnly, job, 8)};
  exchange.cursors[job] = 2;
  const ExchangeResult result = Must(store().Run(exchange));
  EXPECT_EQ(result.syncs[0].grants.at(0).lease.chunk.chunk, 2);
  EXPECT_EQ(result.syncs[1].grants.at(0).lease.chunk.chunk, 0);
}

TEST_P(WornTest, RetriesOfSuspectsLikewise) {
  const JobId job = WithSuspects(1, {.chunks = {2}, .retries = 3});
  const Lease suspect = Sync(AsksFor(kOnly, job, 1)).grants.at(0).lease;
  const Lease sound = Sync(AsksFor(kNot, job, 1)).grants.at(0).lease;
  Tell(suspect, {.failed = Items({0})});
  Tell(sound, {.failed = Items({1})});
  Age(std::chrono::seconds(10));
  EXPECT_EQ(Given(kNot, job), In(2, {1}));
  EXPECT_EQ(Given(kNot, job), Bits());
  EXPECT_EQ(Given(kOnly, job), In(2, {0}));
}

}  // namespace tidemill
