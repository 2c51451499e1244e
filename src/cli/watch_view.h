// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/watch_details.h"
#include "model/job.h"

namespace tidemill::cli {

// What is shown of a job while it runs: a pure function of the answers that came, the time and the
// width.
class WatchView {
 public:
  // An answer, and when it came: milliseconds that only go forward.
  void Add(std::int64_t now_ms, const JobCounts& answer);
  // The server gave none; the reason is for people.
  void AddSilence(std::int64_t now_ms, std::string reason);
  // What else is known by now.
  void SetDetails(WatchDetails details) { details_ = std::move(details); }

  // A block that is drawn over the one before; every line fits the width. Add must come first.
  std::vector<std::string> Frame(std::int64_t now_ms, std::size_t width, bool colours) const;
  // The same on one line, for a log.
  std::string PlainLine(std::size_t width) const;
  // What PlainLine would show has changed since the last call.
  bool TakeChanged();

  // How long the server has been silent; nothing if it answered the last time.
  std::optional<std::int64_t> SilentFor(std::int64_t now_ms) const;
  const JobCounts& last() const { return points_.back().answer; }
  bool ended() const;

  // Items done in a second, over the last half minute; nothing until there is something to say.
  std::optional<double> Rate() const;
  std::optional<std::int64_t> LeftMs() const;

 private:
  struct Point {
    std::int64_t at_ms = 0;
    JobCounts answer;
  };
  // "25 min left"; empty if nobody knows.
  std::string LeftText() const;
  // What holds the job up, and what to do about it; empty if nothing does.
  std::vector<std::string> Hints(std::int64_t now_ms) const;

  std::deque<Point> points_;  // those of the last half minute, and one before
  std::int64_t idle_since_ms_ = 0;
  std::optional<std::int64_t> silent_since_ms_;
  std::string silence_;
  WatchDetails details_;
  std::string shown_;
};

// "━━━━━╺━━━" of so many columns, in the two colours of what is done and what is not.
std::string Bar(std::int64_t done, std::int64_t total, std::size_t width, bool colours);

// How a job that has ended is told, with the next command to type: a line or a few. `failures` are
// lines about the items that failed; none: nobody knows.
std::string EndText(const JobCounts& ended, std::optional<std::int64_t> took_ms,
                    const std::vector<std::string>& failures);
// 0, 1 or 6
int ExitOf(const JobCounts& ended);

}  // namespace tidemill::cli
