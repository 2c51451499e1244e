// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/log_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

std::string PackName(int number) {
  std::string name = std::to_string(number);
  return std::string(6 - std::min<std::size_t>(name.size(), 6), '0') + name + ".pack";
}

// For its owner alone, whatever the umask: what items print is nobody else's to read.
void MakePrivateFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  fs::permissions(path, fs::perms::owner_all, error);
}

void AppendTo(const fs::path& path, std::string_view bytes) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  while (file && !bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

// The files themselves. Only the worker calls it, one call at a time. What cannot be written is
// lost; the next piece says so no more, because there is nowhere to say it.
class LogFiles::Disk {
 public:
  Disk(std::string folder, const LogLimits& limits) : folder_(std::move(folder)), limits_(limits) {}

  void Write(const std::map<JobId, std::string>& jobs) {
    for (const auto& [job, bytes] : jobs) Append(job, bytes);
  }

 private:
  void Append(JobId job, const std::string& bytes) {
    std::error_code error;
    const fs::path folder = fs::path(folder_) / std::to_string(job.number);
    auto [found, fresh] = packs_.try_emplace(job, 0);
    if (fresh) {
      MakePrivateFolder(folder_);
      MakePrivateFolder(folder);
      while (fs::exists(folder / PackName(found->second), error)) ++found->second;
      // A pack of an earlier start may have a torn end: begin a new one.
    }
    const fs::path path = folder / PackName(found->second);
    AppendTo(path, bytes);
    written_ += bytes.size();
    if (fs::file_size(path, error) >= limits_.pack_bytes) ++found->second;
    if (written_ >= limits_.folder_bytes / 8) Prune();
  }

  // Removes the packs that were written to longest ago.
  void Prune() {
    written_ = 0;
    struct Pack {
      fs::file_time_type time;
      fs::path path;
      std::size_t bytes;
    };
    std::vector<Pack> packs;
    std::size_t total = 0;
    std::error_code error;
    fs::recursive_directory_iterator entry(folder_, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      std::error_code gone;
      const std::size_t bytes = entry->file_size(gone);
      if (gone || !entry->is_regular_file(gone)) continue;
      packs.push_back({entry->last_write_time(gone), entry->path(), bytes});
      total += bytes;
    }
    std::sort(packs.begin(), packs.end(),
              [](const Pack& a, const Pack& b) { return a.time < b.time; });
    for (const Pack& pack : packs) {
      if (total <= limits_.folder_bytes) break;
      fs::remove(pack.path, error);
      total -= pack.bytes;
    }
  }

  const std::string folder_;
  const LogLimits limits_;
  std::map<JobId, int> packs_;  // the one that is written to
  // Since the last look at the whole folder; the first one comes with the first write.
  std::size_t written_ = std::numeric_limits<std::size_t>::max() / 2;
};

LogFiles::LogFiles(Loop& loop, Worker& worker, std::string folder,
                   std::function<std::int64_t()> clock_ms, LogLimits limits)
    : loop_(loop),
      worker_(worker),
      clock_ms_(std::move(clock_ms)),
      limits_(limits),
      disk_(std::make_shared<Disk>(std::move(folder), limits)) {}

LogFiles::~LogFiles() { loop_.Cancel(timer_); }

void LogFiles::Append(const LogPlace& place, std::string_view bytes) {
  Attempt& attempt = attempts_[{place.job, place.item, place.round, place.attempt}];
  const std::size_t room =
      std::min(attempt_bytes_ - std::min(attempt_bytes_, attempt.bytes),
               limits_.pending_bytes - std::min(limits_.pending_bytes, pending_bytes_));
  const std::string_view kept = bytes.substr(0, room);
  const bool had_hole = attempt.has_hole;
  attempt.has_hole = kept.size() < bytes.size();
  attempt.bytes += kept.size();
  if (!kept.empty()) AddPiece(place, {.has_hole = had_hole}, kept);
}

// An attempt that has written nothing leaves no trace.
void LogFiles::Close(const LogPlace& place) {
  const auto found = attempts_.find({place.job, place.item, place.round, place.attempt});
  if (found == attempts_.end()) return;
  AddPiece(place, {.last = true, .has_hole = found->second.has_hole}, {});
  attempts_.erase(found);
}

void LogFiles::AddPiece(const LogPlace& place, LogPieceHead head, std::string_view bytes) {
  head.item = place.item;
  head.round = place.round;
  head.attempt = place.attempt;
  head.time_ms = clock_ms_();
  std::string& out = pending_[place.job];
  const std::size_t before = out.size();
  AppendLogPiece(out, head, bytes);
  pending_bytes_ += out.size() - before;
  FlushSoon();
}

void LogFiles::FlushSoon() {
  if (writing_ || timer_ != TimerId::kNone) return;
  timer_ = loop_.After(limits_.gather, [this] {
    timer_ = TimerId::kNone;
    Write();
  });
}

void LogFiles::Flush(std::function<void()> done) {
  flushed_ = std::move(done);
  if (!writing_) Write();
}

void LogFiles::Write() {
  if (pending_.empty()) {
    if (flushed_) std::exchange(flushed_, nullptr)();
    return;
  }
  writing_ = true;
  pending_bytes_ = 0;
  auto jobs = std::make_shared<std::map<JobId, std::string>>(std::exchange(pending_, {}));
  worker_.Run([disk = disk_, jobs] { disk->Write(*jobs); },
              [this, alive = std::weak_ptr<char>(alive_)] {
                if (alive.expired()) return;
                writing_ = false;
                if (flushed_) {
                  Write();
                } else if (!pending_.empty()) {
                  FlushSoon();
                }
              });
}

}  // namespace tidemill
