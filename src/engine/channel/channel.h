// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "engine/engine.h"
#include "frame/frame.h"
#include "net/asio_loop.h"
#include "net/unix_stream.h"

namespace tidemill {

// What a channel tells its container. Never from inside a call of it; each may destroy the channel,
// but for OnLog.
class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  virtual void OnHello() = 0;
  virtual void OnLog(std::uint64_t number, std::string_view bytes) = 0;
  virtual void OnEnd(const ItemEnd& end) = 0;
  // The stream has ended, or init broke the rules. Nothing comes after it.
  virtual void OnBroken(const std::string& reason) = 0;
};

// The agent's end of the stream to one init, which may be hostile: the first byte that an honest
// one would not send breaks the channel. Loop thread only.
class Channel {
 public:
  // Runs that init has at a time: enough that it never waits for the next, and fewer than it lets
  // wait (64). The others wait here, as many as the caller gives.
  static constexpr std::size_t kAhead = 16;
  // With more than this unsent, no run follows: the largest one fits into it a few times.
  static constexpr std::size_t kUnsentMost = 4 * 1024 * 1024;

  Channel(AsioLoop& loop, Fd socket, ChannelEvents& events);
  ~Channel();

  // `argv` is what the run's entrypoint and command came to, or why there is none. What cannot be
  // run ends as kNotStarted when its turn comes, with the reason in its log.
  void Run(const ItemRun& run, const Result<std::vector<std::string>>& argv);
  void Stop(std::uint64_t number);

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::string program = {};
    std::string frame = {};    // until it is sent
    std::string refused = {};  // not empty: why it cannot be sent
    TimePoint sent_at{};
    bool is_timed = false;
    bool has_secrets = false;
    bool sent = false;
    bool stop = false;
  };

  void Turn();
  void TurnSoon();
  bool EndRefused();
  void SendRuns();
  void OnBytes(std::string_view bytes);
  // Empty, or why it breaks the channel.
  std::string Take(const frame::Frame& frame);
  std::string TakeHello(const frame::Frame& frame);
  std::string TakeEnd(const frame::Frame& frame);
  void Break(const std::string& reason);

  // Constant after construction.
  AsioLoop& loop_;
  ChannelEvents& events_;
  // Loop thread only.
  UnixStream stream_;
  frame::Reader reader_{frame::Reader::Side::kAgent};
  bool greeted_ = false;
  bool broken_ = false;
  std::deque<Waiting> runs_;  // without an end, in order: those sent, then those not
  std::size_t sent_ = 0;      // how many of them are sent
  TimerId turn_ = TimerId::kNone;
  // Tells whether an event has destroyed the channel.
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
