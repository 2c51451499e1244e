// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/frame.h"
#include "init/agent_link.h"
#include "init/desk.h"
#include "init/door.h"
#include "init/exit.h"
#include "init/leftovers.h"
#include "init/oom_kills.h"
#include "init/oom_score.h"
#include "init/scratch.h"
#include "init/secrets.h"
#include "init/streams.h"

namespace tidemill::init {

inline constexpr std::size_t kReadBytes = 32 * 1024;  // of what a process wrote, at a time

struct LoopOptions {
  int socket = -1;                    // connected to the agent
  const char* socket_path = nullptr;  // where to connect again if that is cut; null: nowhere
  int signals = -1;                   // a signalfd of SIGCHLD and SIGTERM
  bool first_process = false;
  std::int64_t away_us = 0;  // how long to wait for another agent there
};

// Serves the runs of one agent, one after the other, until there is a reason to end.
//
//   waiting ──start──▶ running ──timeout, Stop──▶ asked ──grace──▶ killed
//                         └──────────────exit──────┴──────────────────┴──▶ draining ──End──▶ idle
//
// At its End there is no process of the item any more, its scratch is empty and its secret files
// are gone, or no other item will run here.
//
// Streams are beside what runs, and end when its process does, or is killed.
//
// In a loop the process is that of the program, which goes the same way; its items are with the
// desk. The scratch folder is the program's for as long as it lives.
class Loop {
 public:
  Loop(const LoopOptions& options, const Scratch& scratch, Secrets& secrets);

  ExitCode Run();

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::string payload;
    bool skip = false;
  };
  enum class Phase { kIdle, kRunning, kAsked, kKilled, kDraining };
  struct Item {
    std::uint64_t number = 0;
    std::string tag = {};
    pid_t pid = 0;
    int output = -1;      // closed when it has ended
    int output_left = 0;  // bytes to read yet, while draining
    std::int64_t start_us = 0;
    std::int64_t oom_kills = 0;  // of the container, before it began
    std::int64_t grace_us = 0;
    frame::End end = {};
  };

  void Turn();
  void StartWaiting();
  void StartRun(const Waiting& waiting);
  void StartProgram();
  // False: it is over already; then its end has an error, or init ends.
  bool Start(frame::Run& run);
  // What its program finds init by; `of_role` too must outlive the start.
  void AddVariables(frame::Run& run, const std::vector<std::string>& of_role) const;
  void Wait();

  void TakeFrames();
  // False: an honest agent would not have sent it.
  bool TakeFrame(const frame::Frame& frame);
  bool TakeProgram(std::string_view payload);
  bool TakeOpen(std::uint64_t number, std::string_view payload);
  void TakeRequests();
  void TakeSignals();
  void TakeOutput();
  void PutOutput(std::string_view bytes);
  void TakeDeadline();

  void Reap();
  void OnExit(int status, const rusage& usage, bool others_left);
  void Drain();
  void TellEnd();
  // Leaves no file of the item; if that cannot be, init ends and its container with it.
  void CleanUp();
  void CloseOutput();

  void Stop(std::uint64_t number);
  // Ends the program of a loop.
  void AskWithin(std::int64_t grace_us);
  void Ask();
  void Kill();

  bool MayPut() const;
  // The stream is cut: from here on for another agent, or for none.
  void Lose();
  void TryToReturn();
  // The first reason counts.
  void Finish(ExitCode code);
  void FlushLast();

  // Constant after construction.
  const LoopOptions options_;
  const Scratch& scratch_;
  Secrets& secrets_;
  const Leftovers leftovers_;

  AgentLink link_;
  OomKills oom_kills_;
  Door door_;
  Desk desk_;
  OpenStreams streams_;
  std::string url_variable_;  // TIDEMILL_URL=...; empty: there is no door
  std::string scratch_variable_;
  std::string program_;  // of a loop, as its frame has it
  std::deque<Waiting> waiting_;
  Phase phase_ = Phase::kIdle;
  Item item_;
  std::int64_t deadline_us_;        // of the phase
  std::int64_t away_until_us_ = 0;  // for as long as init waits for another agent
  std::int64_t next_try_us_ = kNever;
  OomScore score_;  // of the item
  bool signals_ready_ = false;
  bool reap_again_ = false;  // there were more dead than one turn waits for
  bool output_ready_ = false;
  bool frames_ready_ = false;
  std::vector<pollfd> polls_;  // ours, then the door's, then those of streams
  std::size_t door_polls_ = 0;
  std::optional<ExitCode> exit_;
};

}  // namespace tidemill::init
