// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "agent/slots.h"
#include "base/byte_stream.h"
#include "base/loop.h"
#include "frame/frame.h"

namespace tidemill {

// One stream on its way between a person and a container: what the one sends, the other gets, and
// who does not take it makes the other wait. Nothing of it is kept. Loop thread only.
//
//   Begin ──▶ open ──it ended──▶ (the person is told how)
//               └──the person left, or sent what is none──▶ (closed)
class StreamCarrier : public SlotStream, public std::enable_shared_from_this<StreamCarrier> {
 public:
  // A terminal that was forgotten holds nothing for ever.
  static constexpr Duration kLife = std::chrono::hours(12);
  // Of what the person has not taken: more, and the container waits; less, and it goes on.
  static constexpr std::size_t kHoldAbove = 256 * 1024;
  static constexpr std::size_t kGoOnBelow = 64 * 1024;
  // An honest container has far less on its way when it hears that it has to wait.
  static constexpr std::size_t kUnsentMost = 8 * 1024 * 1024;

  // `over` is called once, as the last of all, and never from inside the constructor; it may
  // destroy the carrier.
  StreamCarrier(Loop& loop, Slots& slots, std::unique_ptr<ByteStream> person,
                std::function<void()> over);
  ~StreamCarrier() override;
  StreamCarrier(const StreamCarrier&) = delete;
  StreamCarrier& operator=(const StreamCarrier&) = delete;

  // Beside the run of a key; if that is over, so is the stream.
  void Begin(const ItemKey& key, StreamStart start);

 private:
  // --- what the person sends ---
  void Read(std::string_view bytes);
  // False: no frame has this.
  bool Take(const frame::Frame& frame);
  void OnSent();
  // Nobody is there any more.
  void Drop();

  // --- SlotStream ---
  void OnBytes(bool is_error, std::string_view bytes) override;
  void OnFull(bool full) override;
  void OnEnd(const StreamEnd& end) override;

  void Hold(bool hold);
  void TellOver();

  Loop& loop_;
  Slots& slots_;
  const std::unique_ptr<ByteStream> person_;
  std::function<void()> over_;
  frame::Reader reader_{frame::Reader::Side::kCarrier};
  std::uint64_t number_ = 0;
  bool holds_ = false;
  TimerId life_ = TimerId::kNone;
};

}  // namespace tidemill
