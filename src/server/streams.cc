// SPDX-License-Identifier: Apache-2.0
#include "server/streams.h"

#include <algorithm>
#include <utility>

namespace tidemill {

void AskedStreams::Add(const AskedStream& stream) {
  End(stream.id);
  entries_.push_back({.stream = stream, .kept = true});
}

void AskedStreams::Use(const std::vector<AskedStream>& streams) {
  std::vector<Entry> before = std::exchange(entries_, {});
  for (const AskedStream& stream : streams) {
    Entry& entry = entries_.emplace_back(Entry{.stream = stream});
    const auto known = std::find_if(before.begin(), before.end(), [&stream](const Entry& old) {
      return old.stream.id == stream.id;
    });
    if (known == before.end()) continue;
    entry.told = known->told;
    entry.woken = known->woken;
    before.erase(known);
  }
  for (Entry& entry : before) {
    if (std::exchange(entry.kept, false)) entries_.push_back(std::move(entry));
  }
}

void AskedStreams::End(StreamId id) {
  std::erase_if(entries_, [id](const Entry& entry) { return entry.stream.id == id; });
}

std::set<SessionId> AskedStreams::ToWake() const {
  std::set<SessionId> sessions;
  for (const Entry& entry : entries_) {
    if (!entry.told && entry.woken < kWakes) sessions.insert(entry.stream.session);
  }
  return sessions;
}

void AskedStreams::Woken(SessionId session) {
  for (Entry& entry : entries_) {
    if (entry.stream.session == session) ++entry.woken;
  }
}

std::vector<AskedStream> AskedStreams::Tell(SessionId session) {
  std::vector<AskedStream> streams;
  for (Entry& entry : entries_) {
    if (entry.stream.session != session) continue;
    entry.told = true;
    streams.push_back(entry.stream);
  }
  return streams;
}

}  // namespace tidemill
