// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "frame/frame.h"
#include "init/agent_link.h"
#include "init/exit.h"
#include "init/leftovers.h"
#include "init/scratch.h"
#include "init/secrets.h"

namespace tidemill::init {

struct LoopOptions {
  int socket = -1;   // connected to the agent
  int signals = -1;  // a signalfd of SIGCHLD and SIGTERM
  bool first_process = false;
};

// Serves the runs of one agent, one after the other, until there is a reason to end.
//
//   waiting ──start──▶ running ──timeout, Stop──▶ asked ──grace──▶ killed
//                         └──────────────exit──────┴──────────────────┴──▶ draining ──End──▶ idle
//
// At its End there is no process of the item any more, its scratch is empty and its secret files
// are gone, or no other item will run here.
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
    pid_t pid = 0;
    int output = -1;      // closed when it has ended
    int output_left = 0;  // bytes to read yet, while draining
    std::int64_t start_us = 0;
    std::int64_t grace_us = 0;
    frame::End end = {};
  };

  void Turn();
  void StartWaiting();
  void Start(const Waiting& waiting);
  void Wait();

  void TakeFrames();
  void TakeSignals();
  void TakeOutput();
  void TakeDeadline();

  void Reap();
  void OnExit(int status, const rusage& usage, bool others_left);
  void Drain();
  // Leaves no file of the item; if that cannot be, init ends and its container with it.
  void CleanUp();
  void CloseOutput();

  void Stop(std::uint64_t number);
  void Ask();
  void Kill();

  bool MayPut() const;
  // The first reason counts.
  void Finish(ExitCode code);
  void FlushLast();

  // Constant after construction.
  const LoopOptions options_;
  const Scratch& scratch_;
  Secrets& secrets_;
  const Leftovers leftovers_;

  AgentLink link_;
  std::deque<Waiting> waiting_;
  Phase phase_ = Phase::kIdle;
  Item item_;
  std::int64_t deadline_us_;  // of the phase
  bool signals_ready_ = false;
  bool reap_again_ = false;  // there were more dead than one turn waits for
  bool output_ready_ = false;
  bool frames_ready_ = false;
  std::optional<ExitCode> exit_;
};

}  // namespace tidemill::init
