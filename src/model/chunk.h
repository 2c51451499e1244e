// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bits.h"
#include "model/ids.h"
#include "model/lease.h"

namespace tidemill {

// Up to 2,048 items of a job and where each of them is, one bit string a state, all of one length
// for the chunk's life.
//
//   free ──grant──▶ leased ──settle: succeeded, or failed for good──▶ done (and failed)
//    ▲ │             ▲ │ │                                             │
//    │ │             │ │ └──settle: back, reap: never tried before─────┤
//    │ │       grant │ │                                               │
//    │ │             │ ▼ settle: to be tried again; back, reap: tried  │
//    │ │           resting                                             │
//    │ │             │                                                 │
//    │ └──cancel──▶ parked ◀──cancel── leased                          │
//    └─────────────────────────────────────────────────────────────────┘ reopen
//
// Free is the complement of done, leased, parked and resting, so no item can be lost; those four
// are disjoint, so none can be in two places. Both stores move items only through the functions
// below; these take what they move by value, because it may be one of the chunk's own planes.
struct Chunk {
  ChunkKey key;
  std::int64_t first_item = 0;  // item numbers are first_item + offset
  std::int32_t round = 0;       // of the last reopening that touched this chunk
  Bits done;
  Bits failed;   // of done
  Bits leased;   // each in exactly one lease
  Bits parked;   // cancelled before it was done
  Bits resting;  // was tried before and waits for its retry
  Bits lost1;    // was on one machine that was lost without notice
  Bits suspect;  // was on two or more: leased alone
  bool operator==(const Chunk&) const = default;

  int length() const { return done.length(); }
  Bits Free() const { return ~(done | leased | parked | resting); }
  bool AllDone() const { return done.Count() == length(); }
};

// What a person calls it.
enum class ItemState : std::uint8_t { kWaiting, kRunning, kSucceeded, kFailed, kCancelled };

std::string_view ItemStateName(ItemState state);
std::optional<ItemState> ParseItemState(std::string_view name);

Bits ItemsIn(const Chunk& chunk, ItemState state);
ItemState StateOf(const Chunk& chunk, int offset);

Chunk NewChunk(ChunkKey key, std::int64_t first_item, int length);

// Which free items a lease of at most `want` gets, none if nothing is free. Items that were never
// lost go first; those lost once go in small groups, suspects alone, so that one that kills its
// machine takes few others with it.
Bits PickItems(const Chunk& chunk, int want);

void GrantItems(Chunk& chunk, Bits items);
// The same of items that rest: which, the store says.
void GrantResting(Chunk& chunk, Bits items);

// What a settlement means for a lease that still owes `mine`: it counts only for items that are
// owed, so a copy, a late copy or a lie about others' items is empty.
struct SettleMasks {
  Bits ok;
  Bits failed;
  Bits final;  // of failed
  Bits memory;
  Bits back;
  Bits begun;  // of back
  // Each of these has a row in the settlement's body.
  Bits settled() const { return ok | failed | memory | begun; }
  Bits all() const { return ok | failed | memory | back; }
};
// The settlement's own planes are disjoint: others are refused before.
SettleMasks MasksOf(const Bits& mine, const Settlement& settlement);
// All of it comes back, and none had begun.
SettleMasks AllBack(const Bits& mine);

// Moves what was settled. `exhausted` are those of masks.failed and masks.memory that are not tried
// again; the others rest. What comes back of a lease of tried items rests too. Returns the items
// that are done by this: each of them has its outcome now.
Bits ApplySettlement(Chunk& chunk, const SettleMasks& masks, const Bits& exhausted, bool tried);

// What losing a lease without notice means for the items it still owed.
struct LossMasks {
  Bits once;   // for the first time
  Bits twice;  // becomes a suspect
  Bits more;   // was a suspect already: the store counts
};
LossMasks LossesOf(const Chunk& chunk, const Bits& mine);

// `exhausted` are those of masks.more that were lost too often: recorded as failed, and returned.
// The others are free, or rest if the lease was of tried items.
Bits ApplyLoss(Chunk& chunk, const LossMasks& masks, const Bits& exhausted, bool tried);

// Cancelling: what a revoked lease owed, and all that is free or rests, waits for good.
void Revoke(Chunk& chunk, Bits mine);
void ParkWaiting(Chunk& chunk);

// Makes items of `done` free for a new round, as if they had never run.
void Reopen(Chunk& chunk, Bits items, std::int32_t round);

}  // namespace tidemill
