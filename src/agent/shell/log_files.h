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
#include <vector>

#include "agent/deps.h"
#include "agent/shell/log_spool.h"
#include "agent/shell/log_upload.h"
#include "base/log.h"
#include "base/loop.h"

namespace tidemill {

struct LogLimits {
  // Of one attempt; what it writes beyond is left out.
  std::size_t attempt_bytes = 64 << 20;
  // In memory, while the disk is slow; what comes beyond is left out.
  std::size_t pending_bytes = 8 << 20;
  // A pack is closed when it has so much, before it is packed: eight frames, some MiB in the store.
  std::size_t pack_bytes = 32 << 20;
  // Or when it is so old: what a machine takes with it when it vanishes.
  Duration pack_age = std::chrono::seconds(30);
  // Or when all attempts that are in it are over and nothing came for so long: people look at what
  // has just ended.
  Duration quiet_age = std::chrono::seconds(2);
  // The same as pack_age while somebody reads the job's logs as they come.
  Duration followed_age = std::chrono::milliseconds(700);
  // Pieces wait this long for others to be written with them,
  Duration gather = std::chrono::milliseconds(100);
  // unless there are so many bytes already: who writes much would soon be at pending_bytes.
  std::size_t gather_bytes = 1 << 20;
  LogUpload::Limits upload = {};
};

// Keeps what items write: first on the machine's own disk (log_spool.h), then as packs in the
// object store (log_upload.h), if their job has a place there. Loop thread only; the disk is
// written on the worker. What was on the disk survives, and is uploaded by the next life.
class LogFiles : public ItemLogs {
 public:
  struct Deps {
    Loop& loop;
    Worker& worker;
    Log& log;
    std::function<std::int64_t()> clock_ms;
    PutObject put;
  };
  // `run` is higher in each life: packs of one session must not have the same name.
  LogFiles(Deps deps, std::string folder, std::int32_t run, LogLimits limits = {});
  ~LogFiles() override;

  // Uploads what earlier lives have left.
  void Start();

  void UseSession(const std::string& session, bool is_new) override;
  void Resume(const LogPlace& place) override;
  void StoreAt(JobId job, const std::string& url) override;
  void Append(const LogPlace& place, std::string_view bytes) override;
  std::string Close(const LogPlace& place) override;
  void LimitAttempts(std::int64_t bytes) override {
    attempt_bytes_ = std::min(limits_.attempt_bytes, static_cast<std::size_t>(bytes));
  }
  void Follow(const std::vector<JobId>& jobs) override;
  // Writes what is pending; `done` comes when all is on its way to the disk.
  void Flush(std::function<void()> done);
  // And uploads it. The store may never answer: the caller must not wait for ever.
  void FlushAndUpload(std::function<void()> done);

 private:
  struct Attempt {
    std::size_t bytes = 0;
    std::uint64_t missing = 0;  // since its last piece
    bool at_limit = false;
    // Of its next piece: kBegins or kResumed, if it is the first of this life.
    std::uint32_t first = 0;
  };
  // The pack that a job's pieces go to.
  struct JobLog {
    std::string url = {};   // below which its packs are; empty: they stay here
    std::uint64_t seq = 0;  // 0: none is open
    std::size_t bytes = 0;  // of what is open
    TimePoint opened = {};
    TimePoint last = {};  // when a piece came
    int attempts = 0;     // that have written something and are not over
    bool followed = false;
    std::string pending = {};
  };
  struct Write {
    SpoolFile file;
    std::string bytes;
    bool closes = false;
  };

  Attempt& Enter(const LogPlace& place, std::uint32_t first);
  std::uint64_t AddPiece(const LogPlace& place, LogPart part, std::string_view bytes);
  void Open(JobLog& job);
  // No more goes to the pack that is open.
  void ClosePack(JobId id, JobLog& job);
  void CloseAllPacks();
  void TakePending(JobId id, JobLog& job, bool closes);
  TimePoint DueOf(const JobLog& job) const;
  void FlushSoon();
  void ArmAge();
  void OnAge();
  void WriteNow();

  const Deps deps_;
  const std::string folder_;
  const LogLimits limits_;
  LogUpload upload_;
  std::size_t attempt_bytes_ = limits_.attempt_bytes;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::string session_;
  bool session_is_new_ = false;
  std::uint64_t last_seq_;
  using Key = std::tuple<JobId, std::int64_t, std::int32_t, std::int32_t>;
  std::map<Key, Attempt> attempts_;  // that have written something, in any life, and are not over
  std::map<JobId, JobLog> jobs_;
  std::vector<Write> writes_;  // for the worker, when it is back
  std::size_t pending_bytes_ = 0;
  bool writing_ = false;
  TimerId gather_timer_ = TimerId::kNone;
  bool gather_is_over_ = false;  // the timer is due at once
  TimerId age_timer_ = TimerId::kNone;
  TimePoint age_due_ = TimePoint::max();
  std::function<void()> flushed_;
};

}  // namespace tidemill
