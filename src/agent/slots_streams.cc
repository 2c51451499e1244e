// SPDX-License-Identifier: Apache-2.0
// Streams into containers.
#include <utility>

#include "agent/slot.h"
#include "agent/slots.h"

namespace tidemill {

std::optional<Slots::Whereabouts> Slots::WhereIs(JobId job, std::int64_t item) const {
  for (const auto& slot : slots_) {
    if (slot->spec.job != job || !slot->container || !slot->container->usable()) continue;
    for (const Slot::Given& given : slot->runs) {
      // Its lease may be gone, and have come again: then another is meant.
      const bool is_gone = !given.ours || given.stopped == StopWhy::kLeaseGone;
      if (is_gone || given.attempt.item != item) continue;
      const bool begun = slot->spec.loop || &given == &slot->runs.front();
      return Whereabouts{given.attempt, begun, slot->streams.size()};
    }
  }
  return std::nullopt;
}

std::uint64_t Slots::OpenStream(const ItemKey& key, StreamStart start,
                                const std::weak_ptr<SlotStream>& told) {
  for (const auto& slot : slots_) {
    if (!slot->container || !slot->container->usable()) continue;
    for (const Slot::Given& given : slot->runs) {
      if (!given.ours || given.attempt.key != key) continue;
      start.number = ++last_stream_;
      if (start.port == 0) TellDevices(*slot, start.env);
      slot->streams[start.number] = told;
      slot->container->OpenStream(std::move(start));
      return last_stream_;
    }
  }
  return 0;
}

Slots::Slot* Slots::SlotOfStream(std::uint64_t number) const {
  for (const auto& slot : slots_) {
    if (slot->streams.contains(number)) return slot.get();
  }
  return nullptr;
}

Container* Slots::StreamContainer(std::uint64_t number) const {
  const Slot* const slot = SlotOfStream(number);
  return slot == nullptr ? nullptr : slot->container.get();
}

void Slots::CloseStream(std::uint64_t number) {
  Slot* const slot = SlotOfStream(number);
  if (slot == nullptr) return;
  slot->streams.erase(number);
  slot->container->CloseStream(number);
}

// --- what the container says; those who hear it may close the stream ---

std::shared_ptr<SlotStream> Slots::Slot::StreamOf(std::uint64_t number) const {
  const auto found = streams.find(number);
  return found == streams.end() ? nullptr : found->second.lock();
}

void Slots::Slot::OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) {
  if (const auto stream = StreamOf(number)) stream->OnBytes(is_error, bytes);
}

void Slots::Slot::OnStreamFull(std::uint64_t number, bool full) {
  if (const auto stream = StreamOf(number)) stream->OnFull(full);
}

void Slots::Slot::OnStreamEnd(std::uint64_t number, const StreamEnd& end) {
  const auto stream = StreamOf(number);
  streams.erase(number);
  if (stream != nullptr) stream->OnEnd(end);
}

// Later: the slot may go in the midst of anything.
void Slots::Slot::EndStreams() {
  if (streams.empty()) return;
  slots.deps_.loop.After(Duration::zero(), [ended = std::exchange(streams, {})] {
    for (const auto& [number, told] : ended) {
      if (const auto stream = told.lock()) stream->OnEnd({.with_item = true});
    }
  });
}

}  // namespace tidemill
