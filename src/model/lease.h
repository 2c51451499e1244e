// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bits.h"
#include "model/ids.h"

namespace tidemill {

// Some items of one chunk, handed to one session. A lease exists exactly while it owes something:
// settled, returned, reaped or revoked it is gone, and an id that is not there is never believed.
struct Lease {
  LeaseId id;
  SessionId session;
  ChunkKey chunk;
  std::int32_t round = 0;  // of its chunk when it was granted; its outcomes belong to this round
  Bits mine;               // what it still owes
  // What each of its items may use; 0: as the job's spec says.
  std::int64_t memory_bytes = 0;
  // Its items have been tried before: what it does not settle waits for its retry again, and is not
  // simply free.
  bool tried = false;
  bool operator==(const Lease&) const = default;
};

// "These items are settled": state, not a change, so it may be said again at any time and in any
// order. One report: same lease and seq, same bytes. The offsets are of the lease's chunk; a bit
// past its length makes the settlement invalid.
struct Settlement {
  LeaseId lease;
  std::int32_t seq = 0;
  Bits ok{limits::kItemsPerChunk};
  Bits failed{limits::kItemsPerChunk};
  Bits back{limits::kItemsPerChunk};  // not started, or not by its own doing: costs no attempt
  // Of failed: must not be tried again, whatever retries are left.
  Bits final{limits::kItemsPerChunk};
  Bits memory{limits::kItemsPerChunk};  // ran out of memory: tried again with more, if it may be
  // Of back: had begun, so there is an outcome of this attempt in the body.
  Bits begun{limits::kItemsPerChunk};
  std::string body;  // the outcomes of ok, failed, memory and begun, packed by the agent
};

// How often an item has run before: only those that failed or are suspects have one.
struct ItemTry {
  JobId job;
  std::int64_t item = 0;
  std::int32_t attempts = 0;      // failures of its own in this round
  std::int32_t lost = 0;          // machines lost under it, once it is a suspect
  std::int64_t memory_bytes = 0;  // what it is given next; 0: what the job gives
  std::int32_t steps = 0;         // how often it ran out of memory in this round
  auto operator<=>(const ItemTry&) const = default;
};

}  // namespace tidemill
