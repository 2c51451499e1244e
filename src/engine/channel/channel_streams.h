// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"
#include "frame/frame.h"
#include "net/asio_loop.h"
#include "net/unix_stream.h"

namespace tidemill {

class ChannelEvents;

// The streams of one channel: what is known of each, and whether what init says of it can be true.
// Loop thread only.
class ChannelStreams {
 public:
  // With more than this unsent all streams are full, whatever init says: it may be busy, and takes
  // no more than kStreamUnwrittenMost for a stream that is full when it comes to it. With what the
  // socket holds and a read or two of who sends, this is half of that.
  static constexpr std::size_t kJamBytes = 128 * 1024;

  // All three outlive it.
  ChannelStreams(AsioLoop& loop, UnixStream& stream, ChannelEvents& events);
  ~ChannelStreams();
  ChannelStreams(const ChannelStreams&) = delete;
  ChannelStreams& operator=(const ChannelStreams&) = delete;

  // Init's, as its Hello says. Until then, and for one that knows no streams, none can be opened.
  void set_version(std::uint32_t version) { version_ = version; }

  // See Container.
  void Open(const StreamStart& start);
  void Send(std::uint64_t number, std::string_view bytes);
  void Resize(std::uint64_t number, std::uint16_t rows, std::uint16_t columns);
  void Hold(std::uint64_t number, bool hold);
  void Close(std::uint64_t number);
  // The channel has broken: nothing more comes of any.
  void Drop();

  // Whether a frame of this kind is about a stream.
  static bool IsOurs(frame::Kind kind);
  // Empty, or why it breaks the channel. What it tells may destroy the channel, and this with it.
  std::string Take(const frame::Frame& frame);

 private:
  struct Known {
    bool full = false;       // as init says
    bool told_full = false;  // as we do
    bool input_over = false;
    bool closed = false;  // by us: what still comes of it is for nobody
  };

  // One that is open and not closed, or null.
  Known* Find(std::uint64_t number);
  // Ends one that init never hears of.
  void Refuse(std::uint64_t number, int error);
  void TellRefused();
  // Looks whether there is a jam, and again until there is none.
  void LookAtJam();
  void LookSoon(Duration pause);
  // False: this is gone.
  bool TellFull(std::uint64_t number);
  std::string TakeOver(const frame::Frame& frame);

  AsioLoop& loop_;
  UnixStream& stream_;
  ChannelEvents& events_;
  std::uint32_t version_ = 0;
  std::map<std::uint64_t, Known> known_;  // without an Over
  std::deque<std::pair<std::uint64_t, StreamEnd>> refused_;
  TimerId refusing_ = TimerId::kNone;
  bool jammed_ = false;
  TimerId looking_ = TimerId::kNone;
  // Tells whether an event has destroyed this.
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
