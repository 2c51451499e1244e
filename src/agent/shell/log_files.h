// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "agent/deps.h"
#include "base/loop.h"
#include "wire/log_piece.h"

namespace tidemill {

struct LogLimits {
  // Of one attempt; what it writes beyond is left out.
  std::size_t attempt_bytes = 64 << 20;
  // In memory, while the disk is slow; what comes beyond is left out.
  std::size_t pending_bytes = kLogPieceBytes;
  std::size_t pack_bytes = 64 << 20;
  // Of all jobs together; then the oldest packs go.
  std::size_t folder_bytes = std::size_t{2} << 30;
  // Pieces wait this long for others to be written with them.
  Duration gather = std::chrono::milliseconds(100);
};

// Keeps what items write on the machine's own disk; wire/log_piece.h says how. Loop thread only;
// the disk is written on the worker.
class LogFiles : public ItemLogs {
 public:
  LogFiles(Loop& loop, Worker& worker, std::string folder, std::function<std::int64_t()> clock_ms,
           LogLimits limits = {});
  ~LogFiles() override;

  void Append(const LogPlace& place, std::string_view bytes) override;
  void Close(const LogPlace& place) override;
  void LimitAttempts(std::int64_t bytes) override {
    attempt_bytes_ = std::min(limits_.attempt_bytes, static_cast<std::size_t>(bytes));
  }
  // Writes what is pending; `done` comes when all is on its way to the disk.
  void Flush(std::function<void()> done);

 private:
  using Key = std::tuple<JobId, std::int64_t, std::int32_t, std::int32_t>;
  struct Attempt {
    std::size_t bytes = 0;
    bool has_hole = false;
  };
  class Disk;

  void AddPiece(const LogPlace& place, LogPieceHead head, std::string_view bytes);
  void FlushSoon();
  void Write();

  Loop& loop_;
  Worker& worker_;
  const std::function<std::int64_t()> clock_ms_;
  const LogLimits limits_;
  std::size_t attempt_bytes_ = limits_.attempt_bytes;
  const std::shared_ptr<Disk> disk_;  // used by one work at a time
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::map<Key, Attempt> attempts_;  // that have written something and are not over
  std::map<JobId, std::string> pending_;
  std::size_t pending_bytes_ = 0;
  bool writing_ = false;
  TimerId timer_ = TimerId::kNone;
  std::function<void()> flushed_;
};

}  // namespace tidemill
