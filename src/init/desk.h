// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/frame.h"
#include "init/agent_link.h"
#include "init/door.h"
#include "init/oom_kills.h"
#include "init/role.h"
#include "init/shelf.h"

namespace tidemill::init {

// Answers the programs of a container: hands out items, takes what became of them, and passes on
// how far they are. Whose process lives or ends is its loop's.
//
// What a loop's program prints is in the log of the first item that it holds; if it holds none, of
// the next that it takes. Its cpu is divided among the items of a batch, since the last batch; its
// memory is that of all of them.
class Desk : public Answerer {
 public:
  Desk(Door& door, AgentLink& link, const OomKills& oom_kills)
      : door_(door), link_(link), oom_kills_(oom_kills) {}

  Role& role() { return role_; }

  // --- where each item is a process ---
  // 0: none runs.
  void SetRunning(std::uint64_t number) { running_ = number; }

  // --- where there is a loop ---
  void BeALoop() { is_loop_ = true; }
  bool is_loop() const { return is_loop_; }
  // False: an honest agent would not have sent it.
  bool Add(std::uint64_t number, std::string_view payload);
  void NoMore() { no_more_ = true; }
  // There is nothing to do, and will not be.
  bool is_over() const { return no_more_ && shelf_.empty(); }
  bool anyone_waits() const { return shelf_.anyone_waits(); }
  // If the program must end for it: its grace.
  std::optional<std::int64_t> Stop(std::uint64_t number);
  std::optional<std::int64_t> TimeOut(std::int64_t now_us) { return shelf_.TimeOut(now_us); }
  std::int64_t deadline_us() const;
  // Those that have not ended.
  std::vector<AgentLink::Have> Runs() const;

  void OnStarted(pid_t pid);
  // It was asked to end, and gets no item from here on.
  void OnAsked() { asked_ = true; }
  void OnOutput(std::string_view bytes);
  // `end` is how it ended, or that it could not be started. All its output has come before.
  void OnEnded(const frame::End& end);
  // Answers those that wait, as far as that can be done now.
  void Serve(std::int64_t now_us);

  void OnRequest(std::uint64_t connection, const HttpRequest& request) override;
  void OnClosed(std::uint64_t connection) override;

 private:
  // Somebody asks for items.
  struct Wish {
    std::uint64_t connection = 0;
    std::size_t most = 0;
    std::int64_t until_us = 0;
  };

  // Nothing: it is answered later.
  std::optional<HttpAnswer> Next(std::uint64_t connection, const HttpRequest& request);
  std::optional<HttpAnswer> Settle(std::string_view body);
  HttpAnswer TakeProgress(std::string_view body);
  std::optional<HttpAnswer> Grant(const Wish& wish, std::int64_t now_us);
  void Blame(const WaitingItem& item, const frame::End& end);
  void EndHeld(const HeldItem& item, frame::End end, bool among_others);
  void PutLog(std::uint64_t number, std::string_view bytes);
  void PutEarlyOutput(std::uint64_t number);
  std::int64_t CpuSinceLast();
  std::int64_t MemoryNow(std::int64_t now_us);

  Door& door_;
  AgentLink& link_;
  const OomKills& oom_kills_;
  bool is_loop_ = false;
  bool no_more_ = false;
  std::uint64_t running_ = 0;
  Role role_;
  Shelf shelf_;
  std::deque<Wish> wishes_;
  // Of the program that runs.
  pid_t pid_ = 0;
  bool asked_ = false;
  bool has_taken_ = false;  // an item, since it was started
  std::int64_t oom_kills_before_ = 0;
  std::int64_t cpu_us_ = 0;  // that has been divided
  std::int64_t memory_bytes_ = 0;
  std::int64_t memory_seen_us_ = 0;
  std::string early_output_;  // of before it took an item
  bool early_output_cut_ = false;
};

}  // namespace tidemill::init
