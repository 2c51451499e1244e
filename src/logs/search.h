// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "logs/pack.h"

namespace tidemill {

// What is searched for: a regular expression in RE2's syntax, matched against each line. Its time
// is linear in the text, whatever somebody wrote. Any thread.
class LogPattern {
 public:
  // What a person types; longer ones are made to keep a server busy.
  static constexpr std::size_t kBytesMost = 1000;

  // kInvalid: not a regular expression, or one that is too large; the reason says where.
  static Result<std::shared_ptr<const LogPattern>> Parse(const std::string& text);
  ~LogPattern();

  // False: no line of the text that the filter is of matches.
  bool MayMatch(const GramFilter& filter) const;
  bool Matches(std::string_view line) const;

 private:
  struct Impl;
  explicit LogPattern(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// A line that matches.
struct LogHit {
  LogAttempt who = {};
  std::int64_t time_ms = 0;  // of the part in which it begins
  std::string line = {};     // at most kHitBytes of it
  std::uint64_t at = 0;      // which line of its frame it is
};
// A line of a log is for people; some programs print megabytes without an end of line.
inline constexpr std::size_t kHitBytes = 4096;

// Lines of a frame that match, from the `from`-th line of the frame on, until `most` are found.
struct FrameSearch {
  std::vector<LogHit> hits = {};
  std::uint64_t next = 0;  // the line to go on from
  bool done = false;       // there is no further one
};
struct FrameSearchOptions {
  std::uint64_t from = 0;
  std::size_t most = 1000;
  std::size_t bytes_most = 1 << 20;                    // of the lines found
  std::function<bool(std::int64_t item)> wanted = {};  // null: all
};
FrameSearch SearchFrame(const LogFrame& frame, const LogPattern& pattern,
                        const FrameSearchOptions& options);

}  // namespace tidemill
