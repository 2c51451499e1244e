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
#include "engine/channel/channel_streams.h"
#include "engine/channel/greeting.h"
#include "engine/engine.h"
#include "frame/frame.h"
#include "net/asio_loop.h"
#include "net/unix_stream.h"

namespace tidemill {

// What a channel tells its container. Never from inside a call of it; each may destroy the channel,
// but for OnLog and OnProgress.
class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  virtual void OnHello() = 0;
  virtual void OnLog(std::uint64_t number, std::string_view bytes) = 0;
  virtual void OnProgress(std::uint64_t /*number*/, std::int32_t /*permille*/,
                          std::string_view /*note*/) {}
  virtual void OnEnd(const ItemEnd& end) = 0;
  // See ContainerEvents.
  virtual void OnStreamBytes(std::uint64_t /*number*/, bool /*is_error*/,
                             std::string_view /*bytes*/) {}
  virtual void OnStreamFull(std::uint64_t /*number*/, bool /*full*/) {}
  virtual void OnStreamEnd(std::uint64_t /*number*/, const StreamEnd& /*end*/) {}
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
  // The same of a loop, whose program takes many at once: as many as init lets wait, or be held.
  static constexpr std::size_t kLoopAhead = 1024;
  static constexpr std::size_t kLoopAheadBytes = 4 * 1024 * 1024;
  // With more than this unsent, no run follows: the largest one fits into it a few times.
  static constexpr std::size_t kUnsentMost = 4 * 1024 * 1024;

  Channel(AsioLoop& loop, Fd socket, ChannelEvents& events);
  // To an init of an earlier life of this agent, which has said Hello and what it has.
  Channel(AsioLoop& loop, Fd socket, ChannelEvents& events, const Greeted& greeted, bool is_loop);
  ~Channel();

  // `argv` is what the run's entrypoint and command came to, or why there is none. What cannot be
  // run ends as kNotStarted when its turn comes, with the reason in its log.
  void Run(const ItemRun& run, const Result<std::vector<std::string>>& argv);
  // Makes it a loop, before the first Run; from here on the argv of runs say nothing.
  void Load(const ItemRun& program, const Result<std::vector<std::string>>& argv);
  // Of a loop: no Run follows.
  void NoMore();
  // See Container. Keys that are too long are left out.
  void UseRole(std::string_view keys);
  void Stop(std::uint64_t number);
  // See Container. Bytes for a stream are always taken: OnStreamFull is what holds their sender
  // back.
  void OpenStream(const StreamStart& start);
  void SendToStream(std::uint64_t number, std::string_view bytes) { streams_.Send(number, bytes); }
  void ResizeStream(std::uint64_t number, std::uint16_t rows, std::uint16_t columns) {
    streams_.Resize(number, rows, columns);
  }
  void HoldStream(std::uint64_t number, bool hold) { streams_.Hold(number, hold); }
  void CloseStream(std::uint64_t number) { streams_.Close(number); }
  // Nothing more is wanted: init ends, without waiting for another agent.
  void Quit() { stream_.Send(frame::EncodeQuit()); }

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::string program = {};
    std::string frame = {};    // until it is sent
    std::string refused = {};  // not empty: why it cannot be sent
    std::size_t bytes = 0;     // of its frame
    TimePoint sent_at{};
    bool is_timed = false;
    bool has_secrets = false;
    bool sent = false;
    bool stop = false;
    bool is_found =
        false;  // who gave it is gone, and with it whether it has a timeout or was stopped
  };

  // Sets the frame of a run, or why there is none.
  void EncodeRun(const ItemRun& run, const Result<std::vector<std::string>>& argv,
                 Waiting& waiting) const;
  void EncodeItem(const ItemRun& run, Waiting& waiting) const;
  bool MaySend() const;
  // The run that is the next to be sent, or to be ended without.
  std::size_t NextUnsent() const { return is_loop_ ? sent_ : 0; }
  void Start();
  void Turn();
  void TurnSoon();
  bool EndRefused();
  void SendRuns();
  void OnBytes(std::string_view bytes);
  // Empty, or why it breaks the channel.
  std::string Take(const frame::Frame& frame);
  std::string TakeProgress(const frame::Frame& frame);
  std::string TakeHello(const frame::Frame& frame);
  // Empty, or what an honest init would not say of a run that was given by us.
  std::string WrongWith(const frame::End& end, const Waiting& run) const;
  std::string TakeEnd(const frame::Frame& frame, std::size_t at);
  void Break(const std::string& reason);

  // Constant after construction.
  AsioLoop& loop_;
  ChannelEvents& events_;
  // Loop thread only.
  UnixStream stream_;
  ChannelStreams streams_;
  frame::Reader reader_{frame::Reader::Side::kAgent};
  bool greeted_ = false;
  bool broken_ = false;
  std::deque<Waiting> runs_;  // without an end, in order: those sent, then those not
  std::size_t sent_ = 0;      // how many of them are sent
  std::size_t sent_bytes_ = 0;
  // Of a loop.
  bool is_loop_ = false;
  bool no_more_ = false;
  bool told_no_more_ = false;
  bool has_secrets_ = false;
  std::string program_;          // its name
  std::string program_refused_;  // not empty: why it cannot be run
  TimerId turn_ = TimerId::kNone;
  // Tells whether an event has destroyed the channel.
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
