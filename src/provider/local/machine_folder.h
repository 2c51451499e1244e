// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "provider/local/process_mark.h"

namespace tidemill {

// The folder of one machine, which says all that is known of it:
//
//   state/       its agent's own
//   join.token   only its owner may read it; gone when the machine is
//   agent.log    what its agent wrote
//   made         when, and which process it is; whole from the first moment on
//   ending       when it was asked to end
//   ended        when it was found to be gone
//   billed       its end stands in the bill
//
// Whoever writes holds the lock of its pool. Any thread.
class MachineFolder {
 public:
  explicit MachineFolder(std::filesystem::path path) : path_(std::move(path)) {}

  struct Record {
    TimePoint since{};
    ProcessMark process;
    std::optional<TimePoint> ending = {};
    std::optional<TimePoint> ended = {};
    bool billed = false;
  };
  // Nothing: it was never made.
  std::optional<Record> Read() const;

  // What its agent needs; what an earlier attempt has left is gone.
  Result<void> Prepare(const std::string& join_token) const;
  Result<void> MarkEnding(TimePoint now) const;
  // Its token is gone then.
  Result<void> MarkEnded(TimePoint now) const;
  Result<void> MarkBilled() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path state() const { return path_ / "state"; }
  std::filesystem::path token() const { return path_ / "join.token"; }
  std::filesystem::path log() const { return path_ / "agent.log"; }
  std::filesystem::path made() const { return path_ / "made"; }

 private:
  std::optional<TimePoint> ReadTime(const char* name) const;

  std::filesystem::path path_;
};

// Whole or not at all, and only its owner may read it.
Result<void> WriteWhole(const std::filesystem::path& path, const std::string& text);
std::string MicrosText(TimePoint time);

}  // namespace tidemill
