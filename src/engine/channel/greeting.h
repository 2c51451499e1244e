// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/engine.h"
#include "frame/frame.h"

namespace tidemill {

// What an init has that comes back to its agent.
struct Greeted {
  std::uint32_t version = frame::kVersion;
  std::vector<FoundContainer::Run> runs;
};

// Reads the Hello of an init and what it has, and not a byte of what follows: that waits in the
// socket until somebody wants the container. As strict as a channel.
class Greeting {
 public:
  explicit Greeting(Fd socket) : socket_(std::move(socket)) {}

  enum class State : std::uint8_t { kMore, kWhole, kBroken };
  // Takes what is there; never blocks.
  State Read();
  const Greeted& greeted() const { return greeted_; }
  Fd TakeSocket() { return std::move(socket_); }

 private:
  // False: there is no more now, or ever.
  bool ReadPiece();
  bool Take(const frame::Frame& frame);

  Fd socket_;
  frame::Reader reader_{frame::Reader::Side::kAgent};
  std::string piece_;                       // of a header or of a payload
  std::size_t want_ = frame::kHeaderBytes;  // the whole of it
  bool in_payload_ = false;
  bool greeted_once_ = false;
  bool broken_ = false;
  std::size_t left_ = 0;  // Haves to come
  std::set<std::uint64_t> numbers_;
  Greeted greeted_;
};

}  // namespace tidemill
