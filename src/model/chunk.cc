// SPDX-License-Identifier: Apache-2.0
#include "model/chunk.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tidemill {
namespace {

constexpr std::array<std::string_view, 5> kItemStateNames = {"waiting", "running", "succeeded",
                                                             "failed", "cancelled"};

}  // namespace

std::string_view ItemStateName(ItemState state) {
  return kItemStateNames[static_cast<std::size_t>(state)];
}

std::optional<ItemState> ParseItemState(std::string_view name) {
  const auto* found = std::find(kItemStateNames.begin(), kItemStateNames.end(), name);
  if (found == kItemStateNames.end()) return std::nullopt;
  return static_cast<ItemState>(found - kItemStateNames.begin());
}

Bits ItemsIn(const Chunk& chunk, ItemState state) {
  switch (state) {
    case ItemState::kWaiting:
      return chunk.Free() | chunk.resting;
    case ItemState::kRunning:
      return chunk.leased;
    case ItemState::kSucceeded:
      return chunk.done - chunk.failed;
    case ItemState::kFailed:
      return chunk.failed;
    case ItemState::kCancelled:
      return chunk.parked;
  }
  return Bits(chunk.length());
}

ItemState StateOf(const Chunk& chunk, int offset) {
  if (chunk.failed.Get(offset)) return ItemState::kFailed;
  if (chunk.done.Get(offset)) return ItemState::kSucceeded;
  if (chunk.leased.Get(offset)) return ItemState::kRunning;
  if (chunk.parked.Get(offset)) return ItemState::kCancelled;
  return ItemState::kWaiting;
}

Chunk NewChunk(ChunkKey key, std::int64_t first_item, int length) {
  TIDEMILL_CHECK(length > 0);  // an empty chunk would be done before it began
  const Bits none(length);
  return Chunk{.key = key,
               .first_item = first_item,
               .done = none,
               .failed = none,
               .leased = none,
               .parked = none,
               .resting = none,
               .lost1 = none,
               .suspect = none};
}

Bits PickItems(const Chunk& chunk, int want) {
  const Bits free = chunk.Free();
  if (const Bits sound = free - chunk.lost1 - chunk.suspect; sound.Any()) return sound.First(want);
  if (const Bits once = free - chunk.suspect; once.Any()) {
    return once.First(std::min(want, limits::kLostOnceGroup));
  }
  return free.First(std::min(want, 1));
}

void GrantItems(Chunk& chunk, Bits items) {
  TIDEMILL_CHECK(chunk.Free().Contains(items));
  chunk.leased |= items;
}

void GrantResting(Chunk& chunk, Bits items) {
  TIDEMILL_CHECK(chunk.resting.Contains(items));
  chunk.resting -= items;
  chunk.leased |= items;
}

SettleMasks MasksOf(const Bits& mine, const Settlement& settlement) {
  SettleMasks masks;
  const int length = mine.length();
  masks.ok = settlement.ok.Resized(length) & mine;
  masks.failed = settlement.failed.Resized(length) & mine;
  masks.final = settlement.final.Resized(length) & masks.failed;
  masks.memory = settlement.memory.Resized(length) & mine;
  masks.back = settlement.back.Resized(length) & mine;
  masks.begun = settlement.begun.Resized(length) & masks.back;
  return masks;
}

SettleMasks AllBack(const Bits& mine) {
  const Bits none(mine.length());
  return {none, none, none, none, mine, none};
}

Bits ApplySettlement(Chunk& chunk, const SettleMasks& masks, const Bits& exhausted, bool tried) {
  const Bits missed = masks.failed | masks.memory;
  TIDEMILL_CHECK(chunk.leased.Contains(masks.all()));
  TIDEMILL_CHECK(missed.Contains(exhausted));
  const Bits ended = masks.ok | exhausted;
  TIDEMILL_CHECK(!chunk.done.Intersects(ended));
  chunk.leased -= masks.all();
  chunk.done |= ended;
  chunk.failed |= exhausted;
  chunk.resting |= missed - exhausted;
  if (tried) chunk.resting |= masks.back;
  return ended;
}

LossMasks LossesOf(const Chunk& chunk, const Bits& mine) {
  LossMasks masks;
  masks.more = mine & chunk.suspect;
  masks.twice = (mine & chunk.lost1) - masks.more;
  masks.once = mine - masks.more - masks.twice;
  return masks;
}

Bits ApplyLoss(Chunk& chunk, const LossMasks& masks, const Bits& exhausted, bool tried) {
  const Bits mine = masks.once | masks.twice | masks.more;
  TIDEMILL_CHECK(chunk.leased.Contains(mine));
  TIDEMILL_CHECK(masks.more.Contains(exhausted));
  chunk.leased -= mine;
  chunk.lost1 |= masks.once;
  chunk.lost1 -= masks.twice;
  chunk.suspect |= masks.twice;
  chunk.done |= exhausted;
  chunk.failed |= exhausted;
  if (tried) chunk.resting |= mine - exhausted;
  return exhausted;
}

void Revoke(Chunk& chunk, Bits mine) {
  TIDEMILL_CHECK(chunk.leased.Contains(mine));
  chunk.leased -= mine;
  chunk.parked |= mine;
}

void ParkWaiting(Chunk& chunk) {
  chunk.parked |= chunk.Free() | chunk.resting;
  chunk.resting = Bits(chunk.length());
}

void Reopen(Chunk& chunk, Bits items, std::int32_t round) {
  TIDEMILL_CHECK(chunk.done.Contains(items));
  TIDEMILL_CHECK(round > chunk.round);
  chunk.done -= items;
  chunk.failed -= items;
  chunk.lost1 -= items;
  chunk.suspect -= items;
  chunk.round = round;
}

}  // namespace tidemill
