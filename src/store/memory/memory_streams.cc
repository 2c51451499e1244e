// SPDX-License-Identifier: Apache-2.0
// Who wants into the containers of items.
#include "store/memory/memory_store.h"
#include "store/stream_rules.h"

namespace tidemill {

Result<SessionId> MemoryStore::AskStream(const NewStream& stream) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_us = clock_us_();
  streams_.DropOver(now_us);
  if (const AskedStream* before = streams_.Find(stream.id)) return before->session;
  TIDEMILL_TRY(const JobRow* row, Row(stream.job));
  if (stream.item < 0 || stream.item >= row->job.items) return NoSuchItem(row->job, stream.item);
  const Chunk* chunk = row->chunks.FindItem(stream.item);
  if (chunk == nullptr) return NobodyRunsIt(nullptr, stream.item);
  for (const LeaseId id : leases_.OfChunk(chunk->key)) {
    const Lease& lease = leases_.At(id);
    if (!lease.mine.Get(static_cast<int>(stream.item - chunk->first_item))) continue;
    if (std::ssize(streams_) >= kAskedStreams) return TooManyStreams();
    streams_.Add({stream.id, lease.session, stream.job, stream.item, stream.ask},
                 now_us + stream.life.count());
    return lease.session;
  }
  return NobodyRunsIt(chunk, stream.item);
}

Result<void> MemoryStore::EndStream(StreamId id) {
  const std::lock_guard lock(mutex_);
  streams_.Drop(id);
  return {};
}

}  // namespace tidemill
