// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "model/stream.h"

namespace tidemill {

// The streams that people have asked for, as far as one server knows of them, and which agents have
// not heard of theirs. An agent that is not told here asks another server, perhaps one that knows
// nothing yet: so it is woken until it is told, but not without end. Loop thread only.
class AskedStreams {
 public:
  // Wakes of one agent for one stream. They are a poll apart, so that with the second one every
  // server knows of it.
  static constexpr int kWakes = 3;

  // It was asked for here.
  void Add(const AskedStream& stream);
  // Those that the store knows of: all others are over.
  void Use(const std::vector<AskedStream>& streams);
  // Nobody waits for it any more.
  void End(StreamId id);

  // Who is to sync soon.
  std::set<SessionId> ToWake() const;
  void Woken(SessionId session);
  // What an agent is told with each of its syncs.
  std::vector<AskedStream> Tell(SessionId session);

 private:
  struct Entry {
    AskedStream stream;
    // A poll that was under way when it was asked for does not know of it.
    bool kept = false;
    bool told = false;
    int woken = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace tidemill
