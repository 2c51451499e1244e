// SPDX-License-Identifier: Apache-2.0
#include "model/chunk.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/limits.h"
#include "base/random.h"

namespace tidemill {
namespace {

constexpr ChunkKey kKey{{7}, 3};

Bits Offsets(int length, std::initializer_list<int> offsets) {
  Bits bits(length);
  for (const int offset : offsets) bits.Set(offset);
  return bits;
}

Bits SomeOf(const Bits& bits, Random& random) {
  Bits some(bits.length());
  for (const int i : bits.Indexes()) {
    if (random.Below(2) == 0) some.Set(i);
  }
  return some;
}

// A chunk as one would write it without thinking of bits: for each item where it is, whether it
// waits for a retry, and how many machines were lost under it.
struct PlainItem {
  ItemState state = ItemState::kWaiting;
  bool rests = false;
  int losses = 0;
  bool operator==(const PlainItem&) const = default;
};

// Plays the same moves on a chunk and on the plain items, and compares.
class Game {
 public:
  explicit Game(int length)
      : chunk_(NewChunk(kKey, 1000, length)), items_(static_cast<std::size_t>(length)) {}

  void Play(int move, Random& random) {
    if (move < 5) return Grant(random);
    if (move < 8) return Retry(random);
    if (move < 14) return Settle(random);
    if (move < 18) return Lose(random);
    if (move < 20) return RevokeOne(random);
    if (move < 22) return ReopenSome(random);
    ParkWaiting(chunk_);
    for (PlainItem& item : items_) {
      if (item.state == ItemState::kWaiting) item.state = ItemState::kCancelled;
      item.rests = false;
    }
  }

  void Compare() const {
    int wrong = 0;
    for (int i = 0; i < chunk_.length(); ++i) {
      const PlainItem& item = items_[static_cast<std::size_t>(i)];
      wrong += StateOf(chunk_, i) != item.state;
      wrong += chunk_.resting.Get(i) != item.rests;
      wrong += chunk_.lost1.Get(i) != (item.losses == 1);
      wrong += chunk_.suspect.Get(i) != (item.losses >= 2);
    }
    RC_ASSERT(wrong == 0);
    RC_ASSERT(!chunk_.done.Intersects(chunk_.leased));
    RC_ASSERT(!chunk_.parked.Intersects(chunk_.done | chunk_.leased));
    RC_ASSERT(!chunk_.resting.Intersects(chunk_.done | chunk_.leased | chunk_.parked));
    RC_ASSERT(chunk_.done.Contains(chunk_.failed));
    Bits all(chunk_.length());
    int count = 0;
    for (int s = 0; s <= static_cast<int>(ItemState::kCancelled); ++s) {
      const Bits in = ItemsIn(chunk_, static_cast<ItemState>(s));
      all |= in;
      count += in.Count();
    }
    RC_ASSERT(all == Bits::All(chunk_.length()));
    RC_ASSERT(count == chunk_.length());
    RC_ASSERT(chunk_.AllDone() == (chunk_.done == all));
    Bits leased(chunk_.length());
    for (const PlainLease& lease : leases_) {
      RC_ASSERT(!leased.Intersects(lease.mine));
      leased |= lease.mine;
    }
    RC_ASSERT(leased == chunk_.leased);
  }

 private:
  struct PlainLease {
    Bits mine;
    bool tried = false;
  };

  PlainItem& Item(int i) { return items_[static_cast<std::size_t>(i)]; }

  // What a lease of `want` should get.
  Bits Pick(int want) const {
    for (const int losses : {0, 1, 2}) {
      Bits picked(chunk_.length());
      const int most = losses == 0 ? want : std::min(want, losses == 1 ? 16 : 1);
      int found = 0;
      for (int i = 0; i < chunk_.length(); ++i) {
        const PlainItem& item = items_[static_cast<std::size_t>(i)];
        if (item.state != ItemState::kWaiting || item.rests || std::min(item.losses, 2) != losses)
          continue;
        if (found++ < most) picked.Set(i);
      }
      if (found > 0) return picked;
    }
    return Bits(chunk_.length());
  }

  void Grant(Random& random) {
    const int want = static_cast<int>(random.Below(40));
    const Bits picked = PickItems(chunk_, want);
    RC_ASSERT(picked == Pick(want));
    GrantItems(chunk_, picked);
    for (const int i : picked.Indexes()) Item(i).state = ItemState::kRunning;
    if (picked.Any()) leases_.push_back({picked, false});
  }

  void Retry(Random& random) {
    const Bits picked = SomeOf(chunk_.resting, random);
    GrantResting(chunk_, picked);
    for (const int i : picked.Indexes()) {
      Item(i).state = ItemState::kRunning;
      Item(i).rests = false;
    }
    if (picked.Any()) leases_.push_back({picked, true});
  }

  void Settle(Random& random) {
    if (leases_.empty()) return;
    auto& [mine, tried] = leases_[random.Below(leases_.size())];
    Settlement settlement;
    const Bits all = Bits::All(chunk_.length());
    settlement.ok = SomeOf(SomeOf(all, random), random);
    settlement.failed = SomeOf(all, random) - settlement.ok;
    settlement.memory = SomeOf(all, random) - settlement.ok - settlement.failed;
    settlement.back = SomeOf(all, random) - settlement.ok - settlement.failed - settlement.memory;
    const SettleMasks masks = MasksOf(mine, settlement);
    const Bits exhausted = SomeOf(masks.failed | masks.memory, random);
    Bits ended(chunk_.length());
    for (const int i : mine.Indexes()) {
      const bool ok = settlement.ok.Get(i), failed = settlement.failed.Get(i);
      const bool memory = settlement.memory.Get(i), back = settlement.back.Get(i);
      RC_ASSERT(masks.ok.Get(i) == ok && masks.failed.Get(i) == failed &&
                masks.memory.Get(i) == memory && masks.back.Get(i) == back);
      if (!ok && !failed && !memory && !back) continue;
      Item(i).state = ok                 ? ItemState::kSucceeded
                      : exhausted.Get(i) ? ItemState::kFailed
                                         : ItemState::kWaiting;
      Item(i).rests = Item(i).state == ItemState::kWaiting && (!back || tried);
      if (Item(i).state != ItemState::kWaiting) ended.Set(i);
    }
    RC_ASSERT(mine.Contains(masks.all()));
    RC_ASSERT(ApplySettlement(chunk_, masks, exhausted, tried) == ended);
    mine -= masks.all();
    DropEmptyLeases();
  }

  void Lose(Random& random) {
    if (leases_.empty()) return;
    auto& [mine, tried] = leases_[random.Below(leases_.size())];
    const LossMasks masks = LossesOf(chunk_, mine);
    const Bits exhausted = SomeOf(masks.more, random);
    for (const int i : mine.Indexes()) {
      RC_ASSERT(masks.once.Get(i) == (Item(i).losses == 0));
      RC_ASSERT(masks.twice.Get(i) == (Item(i).losses == 1));
      RC_ASSERT(masks.more.Get(i) == (Item(i).losses >= 2));
      ++Item(i).losses;
      Item(i).state = exhausted.Get(i) ? ItemState::kFailed : ItemState::kWaiting;
      Item(i).rests = tried && !exhausted.Get(i);
    }
    RC_ASSERT(ApplyLoss(chunk_, masks, exhausted, tried) == exhausted);
    mine = Bits(chunk_.length());
    DropEmptyLeases();
  }

  void RevokeOne(Random& random) {
    if (leases_.empty()) return;
    Bits& mine = leases_[random.Below(leases_.size())].mine;
    Revoke(chunk_, mine);
    for (const int i : mine.Indexes()) Item(i).state = ItemState::kCancelled;
    mine = Bits(chunk_.length());
    DropEmptyLeases();
  }

  void ReopenSome(Random& random) {
    const Bits items = SomeOf(chunk_.done, random);
    Reopen(chunk_, items, ++round_);
    RC_ASSERT(chunk_.round == round_);
    for (const int i : items.Indexes()) Item(i) = PlainItem();
  }

  void DropEmptyLeases() {
    std::erase_if(leases_, [](const PlainLease& lease) { return lease.mine.None(); });
  }

  Chunk chunk_;
  std::vector<PlainItem> items_;
  std::vector<PlainLease> leases_;
  std::int32_t round_ = 0;
};

RC_GTEST_PROP(Chunk, HasEveryItemInExactlyOnePlaceAfterAnyMoves, ()) {
  Game game(*rc::gen::oneOf(rc::gen::inRange(1, 100), rc::gen::just(limits::kItemsPerChunk)));
  const auto moves = *rc::gen::container<std::vector<std::pair<int, std::uint32_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 23), rc::gen::arbitrary<std::uint32_t>()));
  game.Compare();
  for (const auto& [move, seed] : moves) {
    SeededRandom random(seed);
    game.Play(move, random);
    game.Compare();
  }
}

// The games above are short; this one goes on until items have been lost and reopened many times.
TEST(Chunk, HasEveryItemInExactlyOnePlaceAfterALongLife) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SeededRandom random(seed);
    Game game(static_cast<int>(1 + random.Below(60)));
    for (int i = 0; i < 400; ++i) {
      game.Play(static_cast<int>(random.Below(22)), random);
      game.Compare();
    }
  }
}

TEST(Chunk, BeginsWithEveryItemWaiting) {
  const Chunk chunk = NewChunk(kKey, 1000, 5);
  EXPECT_EQ(chunk.length(), 5);
  EXPECT_EQ(chunk.key, kKey);
  EXPECT_EQ(chunk.first_item, 1000);
  EXPECT_EQ(chunk.Free(), Bits::All(5));
  EXPECT_EQ(ItemsIn(chunk, ItemState::kWaiting), Bits::All(5));
  EXPECT_FALSE(chunk.AllDone());
}

TEST(ItemState, ComesBackFromItsName) {
  for (int i = 0; i <= static_cast<int>(ItemState::kCancelled); ++i) {
    const auto state = static_cast<ItemState>(i);
    EXPECT_EQ(ParseItemState(ItemStateName(state)), state);
  }
  EXPECT_EQ(ItemStateName(ItemState::kWaiting), "waiting");
  EXPECT_EQ(ParseItemState("Waiting"), std::nullopt);
  EXPECT_EQ(ParseItemState(""), std::nullopt);
}

TEST(PickItems, GivesTheFirstFreeItems) {
  Chunk chunk = NewChunk(kKey, 0, 6);
  GrantItems(chunk, Offsets(6, {1}));
  EXPECT_EQ(PickItems(chunk, 3), Offsets(6, {0, 2, 3}));
  EXPECT_EQ(PickItems(chunk, 100), Offsets(6, {0, 2, 3, 4, 5}));
}

TEST(PickItems, GivesNothingIfNothingIsFreeOrWanted) {
  Chunk chunk = NewChunk(kKey, 0, 3);
  EXPECT_TRUE(PickItems(chunk, 0).None());
  GrantItems(chunk, Offsets(3, {0, 1}));
  ParkWaiting(chunk);
  EXPECT_TRUE(PickItems(chunk, 5).None());
}

TEST(PickItems, GivesSoundItemsBeforeThoseThatWereLost) {
  Chunk chunk = NewChunk(kKey, 0, 6);
  chunk.lost1 = Offsets(6, {0, 1});
  chunk.suspect = Offsets(6, {2});
  EXPECT_EQ(PickItems(chunk, 6), Offsets(6, {3, 4, 5}));
}

TEST(PickItems, GivesItemsLostOnceInGroupsOfSixteen) {
  Chunk chunk = NewChunk(kKey, 0, 40);
  chunk.lost1 = Bits::All(40);
  EXPECT_EQ(PickItems(chunk, 40), Bits::Range(40, 0, 16));
  EXPECT_EQ(PickItems(chunk, 3), Bits::Range(40, 0, 3));
  chunk.lost1.Clear(0);
  chunk.suspect.Set(0);
  EXPECT_EQ(PickItems(chunk, 40), Bits::Range(40, 1, 16));
}

TEST(PickItems, GivesASuspectAloneAndLast) {
  Chunk chunk = NewChunk(kKey, 0, 4);
  chunk.suspect = Bits::All(4);
  EXPECT_EQ(PickItems(chunk, 4), Offsets(4, {0}));
  EXPECT_TRUE(PickItems(chunk, 0).None());
  chunk.suspect.Clear(3);
  EXPECT_EQ(PickItems(chunk, 4), Offsets(4, {3}));
}

Settlement Says(const Bits& ok, const Bits& failed, const Bits& back) {
  Settlement settlement;
  settlement.ok = ok;
  settlement.failed = failed;
  settlement.back = back;
  return settlement;
}

TEST(MasksOf, CountOnlyWhatTheLeaseOwes) {
  const SettleMasks masks = MasksOf(
      Offsets(8, {0, 1, 2, 3}), Says(Offsets(8, {0, 4}), Offsets(8, {1, 5}), Offsets(8, {2, 6})));
  EXPECT_EQ(masks.ok, Offsets(8, {0}));
  EXPECT_EQ(masks.failed, Offsets(8, {1}));
  EXPECT_EQ(masks.back, Offsets(8, {2}));
  EXPECT_EQ(masks.settled(), Offsets(8, {0, 1}));
  EXPECT_EQ(masks.all(), Offsets(8, {0, 1, 2}));
}

TEST(MasksOf, AreEmptyForACopy) {
  Bits mine = Bits::All(8);
  const Settlement said = Says(Offsets(8, {0}), Offsets(8, {1}), Offsets(8, {2}));
  mine -= MasksOf(mine, said).all();
  EXPECT_TRUE(MasksOf(mine, said).all().None());
}

TEST(MasksOf, AreEmptyForALieAboutItemsOfOthers) {
  const Bits others = Offsets(8, {4, 5, 6, 7});
  EXPECT_TRUE(MasksOf(Offsets(8, {0, 1}), Says(others, others, others)).all().None());
}

TEST(MasksOf, HaveTheLengthOfTheLeaseWhateverThatOfTheSettlement) {
  Settlement said;
  said.ok.Set(1);
  said.ok.Set(2000);
  const SettleMasks masks = MasksOf(Bits::All(8), said);
  EXPECT_EQ(masks.ok, Offsets(8, {1}));
  EXPECT_EQ(masks.all(), Offsets(8, {1}));
}

TEST(MasksOf, HaveAnOutcomeForWhatHadBegun) {
  Settlement said = Says(Offsets(6, {0}), Offsets(6, {1, 2}), Offsets(6, {4, 5}));
  said.final = Offsets(6, {2});
  said.memory = Offsets(6, {3});
  said.begun = Offsets(6, {5});
  const SettleMasks masks = MasksOf(Bits::All(6), said);
  EXPECT_EQ(masks.final, Offsets(6, {2}));
  EXPECT_EQ(masks.settled(), Offsets(6, {0, 1, 2, 3, 5}));
  EXPECT_EQ(masks.all(), Bits::All(6));
}

SettleMasks MasksFor(const Bits& ok, const Bits& failed, const Bits& back) {
  return MasksOf(Bits::All(ok.length()), Says(ok, failed, back));
}

TEST(ApplySettlement, RestsWhatFailedWithRetriesLeftAndFreesWhatCameBack) {
  Chunk chunk = NewChunk(kKey, 0, 5);
  GrantItems(chunk, Bits::All(5));
  SettleMasks masks = MasksFor(Offsets(5, {0}), Offsets(5, {1, 2}), Offsets(5, {3}));
  masks.memory = Offsets(5, {4});
  EXPECT_EQ(ApplySettlement(chunk, masks, Offsets(5, {2}), false), Offsets(5, {0, 2}));
  EXPECT_EQ(chunk.Free(), Offsets(5, {3}));
  EXPECT_EQ(chunk.resting, Offsets(5, {1, 4}));
  EXPECT_EQ(ItemsIn(chunk, ItemState::kWaiting), Offsets(5, {1, 3, 4}));
  EXPECT_EQ(ItemsIn(chunk, ItemState::kSucceeded), Offsets(5, {0}));
  EXPECT_EQ(ItemsIn(chunk, ItemState::kFailed), Offsets(5, {2}));
}

TEST(ApplySettlement, RestsWhatComesBackOfItemsThatWereTried) {
  Chunk chunk = NewChunk(kKey, 0, 2);
  chunk.resting = Bits::All(2);
  GrantResting(chunk, Bits::All(2));
  EXPECT_EQ(chunk.leased, Bits::All(2));
  ApplySettlement(chunk, AllBack(Offsets(2, {0})), Bits(2), true);
  ApplyLoss(chunk, LossesOf(chunk, Offsets(2, {1})), Bits(2), true);
  EXPECT_EQ(chunk.resting, Bits::All(2));
  EXPECT_EQ(chunk.lost1, Offsets(2, {1}));
  EXPECT_TRUE(chunk.Free().None());
  ParkWaiting(chunk);
  EXPECT_EQ(chunk.parked, Bits::All(2));
  EXPECT_TRUE(chunk.resting.None());
}

TEST(ApplyLoss, MovesItemsUpOnePlaneAndFailsThoseLostTooOften) {
  Chunk chunk = NewChunk(kKey, 0, 4);
  chunk.lost1 = Offsets(4, {1});
  chunk.suspect = Offsets(4, {2, 3});
  GrantItems(chunk, Bits::All(4));
  const LossMasks masks = LossesOf(chunk, Bits::All(4));
  EXPECT_EQ(ApplyLoss(chunk, masks, Offsets(4, {3}), false), Offsets(4, {3}));
  EXPECT_EQ(chunk.lost1, Offsets(4, {0}));
  EXPECT_EQ(chunk.suspect, Offsets(4, {1, 2, 3}));
  EXPECT_EQ(chunk.Free(), Offsets(4, {0, 1, 2}));
  EXPECT_EQ(chunk.failed, Offsets(4, {3}));
}

TEST(Reopen, MakesItemsFreeAsIfTheyHadNeverRun) {
  Chunk chunk = NewChunk(kKey, 0, 3);
  chunk.suspect = Offsets(3, {1});
  GrantItems(chunk, Bits::All(3));
  const Bits none(3);
  ApplySettlement(chunk, MasksFor(Offsets(3, {0}), Offsets(3, {1, 2}), none), Offsets(3, {1, 2}),
                  false);
  ASSERT_TRUE(chunk.AllDone());
  Reopen(chunk, Offsets(3, {1, 2}), 4);
  EXPECT_EQ(chunk.Free(), Offsets(3, {1, 2}));
  EXPECT_TRUE(chunk.failed.None());
  EXPECT_TRUE(chunk.suspect.None());
  EXPECT_EQ(chunk.round, 4);
}

TEST(ChunkDeathTest, StopsOnMovesThatWouldLoseOrDoubleAnItem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Chunk chunk = NewChunk(kKey, 0, 3);
  const Bits one = Offsets(3, {0});
  const Bits none(3);
  EXPECT_DEATH(ApplySettlement(chunk, MasksFor(one, none, none), none, false), "leased");
  EXPECT_DEATH(Revoke(chunk, one), "leased");
  EXPECT_DEATH(ApplyLoss(chunk, {one, none, none}, none, false), "leased");
  EXPECT_DEATH(GrantResting(chunk, one), "resting");
  EXPECT_DEATH(Reopen(chunk, one, 1), "done");
  GrantItems(chunk, one);
  EXPECT_DEATH(GrantItems(chunk, one), "Free");
  EXPECT_DEATH(ApplySettlement(chunk, AllBack(one), one, false), "exhausted");
  EXPECT_DEATH(NewChunk(kKey, 0, 0), "length");
}

}  // namespace
}  // namespace tidemill
