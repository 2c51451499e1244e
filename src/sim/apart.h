// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "sim/outcome.h"

namespace tidemill {

// A run takes seconds, with sanitizers a minute.
inline constexpr Duration kRunTime = std::chrono::minutes(10);

// A run in a process of its own, so that one that aborts is an outcome like others. The process
// that begins it has no threads.
class ApartRun {
 public:
  // kUnavailable: there is no room for another process. A quiet one says nothing on stderr.
  static Result<ApartRun> Begin(const std::function<SimOutcome()>& play, bool quiet);
  ApartRun(ApartRun&& other) noexcept;
  ApartRun& operator=(ApartRun&&) = delete;
  // Ends it if it is not over.
  ~ApartRun();

  // Readable when it is over, or about to be.
  int fd() const { return pipe_.get(); }
  // Waits for it. A run that aborted has broken the invariant "abort". Once.
  SimOutcome End();

 private:
  ApartRun(pid_t pid, Fd pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  pid_t pid_;
  Fd pipe_;
};

// What a run is that was given up: it has broken the invariant "stuck".
SimOutcome Stuck();

// Begins a quiet one and waits for it, for so long of real time.
SimOutcome PlayApart(const std::function<SimOutcome()>& play, Duration limit = kRunTime);

}  // namespace tidemill
