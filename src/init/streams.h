// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frame/stream.h"
#include "init/agent_link.h"
#include "init/clocks.h"
#include "init/leftovers.h"
#include "init/oom_score.h"

namespace tidemill::init {

// The streams of a container. Whether there is an item beside which they may be is its loop's to
// know. Never blocks.
//
//   Open ──▶ connecting ──▶ on ──program exits──▶ drained ──▶ Over
//                            ├──Close──▶ hung up ──exits, or is killed──▶ Over
//                            └──EndAll──▶ Over
//
// The main process of a program leads a session. What is left of that when it has ended is killed.
class OpenStreams {
 public:
  // Both must outlive it.
  OpenStreams(AgentLink& link, const Leftovers& leftovers) : link_(link), leftovers_(leftovers) {}
  ~OpenStreams();
  OpenStreams(const OpenStreams&) = delete;
  OpenStreams& operator=(const OpenStreams&) = delete;

  bool Has(std::uint64_t number) { return Find(number) != nullptr; }
  // One that is not there yet. If it cannot be, its Over says why.
  void Open(std::uint64_t number, const frame::Open& open, bool has_role);
  // A Give, Resize, Hold or Close. False: an honest agent would not have sent it. One that comes
  // after the end of its stream was on its way, and is nothing.
  bool Take(const frame::Frame& frame);

  // What to poll for; Serve gets the same entries back, however many streams have come and gone.
  void AddPolls(std::vector<pollfd>& polls);
  void Serve(const std::vector<pollfd>& polls);
  // Goes on with those whose time has come or whose program has ended.
  void Advance(std::int64_t now_us);
  std::int64_t deadline_us() const;

  // A child has ended: `exit` is its exit code, or 128 and what killed it. It must not have been
  // waited for, so that its number is its own yet.
  void OnDeath(pid_t pid, std::int32_t exit);
  // The item beside them ends. Who is left of their processes must be killed next.
  void EndAll();
  // The agent is gone: they end, and are not told of.
  void Cut();

 private:
  static constexpr std::size_t kNotPolled = SIZE_MAX;
  struct Stream {
    std::uint64_t number = 0;
    std::uint16_t port = 0;  // 0: it is a program
    bool terminal = false;
    pid_t pid = 0;  // of the program, until it has ended
    // Those of a terminal or a port are one twice. The input of a terminal stays open.
    int input = -1;
    int output = -1;
    int errors = -1;
    bool connecting = false;
    int first_error = 0;  // of the first kind of address that was tried
    std::string unwritten = {};
    bool input_ended = false;  // after what is unwritten
    bool full = false;
    bool hold = false;
    bool closing = false;
    bool muted = false;  // its agent is gone
    bool over = false;   // and told
    bool exited = false;
    std::int32_t exit = 0;
    // Of what was written before the program ended.
    std::size_t output_left = 0;
    std::size_t errors_left = 0;
    std::int64_t deadline_us = kNever;  // to be connected, or to be killed
    OomScore score = {};
    std::size_t polled = kNotPolled;
  };

  Stream* Find(std::uint64_t number);
  std::size_t Count() const;
  bool MayPut() const;

  // 0, or errno.
  static int StartOnTerminal(Stream& stream, const frame::Open& open, bool has_role);
  static int StartOnPipes(Stream& stream, const frame::Open& open, bool has_role);
  static int Connect(Stream& stream);
  static int OnConnect(Stream& stream, int error);
  static int ErrorOfConnect(int socket);

  bool Give(Stream& stream, std::string_view bytes);
  void Write(Stream& stream);
  void EndInput(Stream& stream);
  void Close(Stream& stream);
  // Reads once.
  void Read(Stream& stream);
  void ReadOne(Stream& stream, bool of_errors);
  void ServeOne(Stream& stream, const std::vector<pollfd>& polls);
  void AdvanceOne(Stream& stream, std::int64_t now_us);
  // Ends it if nothing more can come of it.
  void Settle(Stream& stream);
  void End(Stream& stream, const frame::Over& over);
  void Sweep();

  AgentLink& link_;
  const Leftovers& leftovers_;
  std::vector<Stream> streams_;
};

}  // namespace tidemill::init
