// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/log_files.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

constexpr std::uint64_t kRuns = 1'000'000;
// Longer ones are cut: a page of a log ends between two pieces.
constexpr std::size_t kPieceBytes = 256 << 10;
// Jobs whose packs are all closed are forgotten beyond this: they are told anew with their leases.
constexpr std::size_t kJobsMost = 1000;

}  // namespace

LogFiles::LogFiles(Deps deps, std::string folder, std::int32_t run, LogLimits limits)
    : deps_(std::move(deps)),
      folder_(std::move(folder)),
      limits_(limits),
      upload_(deps_.loop, deps_.worker, deps_.log, deps_.put, limits.upload),
      last_seq_(static_cast<std::uint64_t>(run) % kRuns * kPacksPerLife) {}

LogFiles::~LogFiles() {
  deps_.loop.Cancel(gather_timer_);
  deps_.loop.Cancel(age_timer_);
}

void LogFiles::Start() {
  auto found = std::make_shared<std::vector<SpoolFile>>();
  deps_.worker.Run([found, folder = folder_] { *found = FindSpools(folder); },
                   [this, found, first = last_seq_, alive = std::weak_ptr<char>(alive_)] {
                     if (alive.expired()) return;
                     for (SpoolFile& file : *found) {
                       // Those of this life are not closed yet.
                       const bool ours = file.seq / kPacksPerLife == first / kPacksPerLife;
                       if (!ours) upload_.Add(std::move(file));
                     }
                   });
}

void LogFiles::UseSession(const std::string& session, bool is_new) {
  if (session == session_) return;
  CloseAllPacks();
  // Nobody says their end any more.
  attempts_.clear();
  for (auto& [id, job] : jobs_) job.attempts = 0;
  session_ = session;
  session_is_new_ = is_new;
}

void LogFiles::StoreAt(JobId id, const std::string& url) {
  if (jobs_.size() >= kJobsMost && !jobs_.contains(id)) {
    std::erase_if(jobs_, [](const auto& entry) {
      return entry.second.seq == 0 && entry.second.attempts == 0;
    });
  }
  JobLog& job = jobs_[id];
  if (job.url == url) return;
  ClosePack(id, job);
  job.url = url;
}

void LogFiles::Follow(const std::vector<JobId>& jobs) {
  for (auto& [id, job] : jobs_) {
    job.followed = std::find(jobs.begin(), jobs.end(), id) != jobs.end();
  }
  ArmAge();
}

void LogFiles::Resume(const LogPlace& place) { Enter(place, LogPart::kResumed); }

LogFiles::Attempt& LogFiles::Enter(const LogPlace& place, std::uint32_t first) {
  const auto [found, is_new] =
      attempts_.try_emplace({place.job, place.item, place.round, place.attempt});
  if (is_new) {
    ++jobs_[place.job].attempts;
    found->second.first = first;
  }
  return found->second;
}

void LogFiles::Append(const LogPlace& place, std::string_view bytes) {
  Attempt& attempt = Enter(place, session_is_new_ ? LogPart::kBegins : 0);
  const std::size_t limit = attempt_bytes_ - std::min(attempt_bytes_, attempt.bytes);
  const std::size_t room = limits_.pending_bytes - std::min(limits_.pending_bytes, pending_bytes_);
  std::string_view kept = bytes.substr(0, std::min(limit, room));
  const std::uint64_t missing = bytes.size() - kept.size();
  LogPart part{.flags = attempt.first, .missing = std::exchange(attempt.missing, 0)};
  if (part.missing > 0) part.flags |= LogPart::kHole;
  attempt.bytes += kept.size();
  while (!kept.empty()) {
    AddPiece(place, part, kept.substr(0, kPieceBytes));
    kept.remove_prefix(std::min(kept.size(), kPieceBytes));
    part = {};
    attempt.first = 0;
  }
  // What was not said yet stays to be said.
  attempt.missing = part.missing + missing;
  if (missing > 0 && limit < bytes.size() && !std::exchange(attempt.at_limit, true)) {
    AddPiece(place, {},
             "\n[tidemill: this log may have " + std::to_string(attempt_bytes_) +
                 " bytes and has them; what follows is left out]\n");
  }
}

// An attempt that has written nothing leaves no trace; of one that was resumed nobody knows.
std::string LogFiles::Close(const LogPlace& place) {
  const auto found = attempts_.find({place.job, place.item, place.round, place.attempt});
  if (found == attempts_.end()) return {};
  LogPart part{.flags = LogPart::kLast | found->second.first, .missing = found->second.missing};
  if (part.missing > 0) part.flags |= LogPart::kHole;
  if (found->second.at_limit) part.flags |= LogPart::kLimit;
  attempts_.erase(found);
  JobLog& job = jobs_[place.job];
  --job.attempts;
  const std::uint64_t seq = AddPiece(place, part, {});
  ArmAge();
  return job.url.empty() ? "" : session_ + "/" + SpoolName(seq);
}

void LogFiles::Open(JobLog& job) {
  job.seq = ++last_seq_;
  job.opened = deps_.loop.Now();
  job.bytes = 0;
  job.pending = SpoolHead(job.url.empty() ? "" : job.url + session_ + "/" + SpoolName(job.seq));
  pending_bytes_ += job.pending.size();
  ArmAge();
}

std::uint64_t LogFiles::AddPiece(const LogPlace& place, LogPart part, std::string_view bytes) {
  JobLog& job = jobs_[place.job];
  if (job.seq == 0) Open(job);
  const std::uint64_t seq = job.seq;
  part.time_ms = deps_.clock_ms();
  job.last = deps_.loop.Now();
  const std::size_t before = job.pending.size();
  AppendSpoolPiece(job.pending, {place.item, place.round, place.attempt}, part, bytes);
  const std::size_t size = job.pending.size() - before;
  pending_bytes_ += size;
  job.bytes += size;
  if (job.bytes >= limits_.pack_bytes) ClosePack(place.job, job);
  FlushSoon();
  return seq;
}

void LogFiles::ClosePack(JobId id, JobLog& job) {
  if (job.seq == 0) return;
  TakePending(id, job, true);
  job.seq = 0;
  FlushSoon();
}

void LogFiles::CloseAllPacks() {
  for (auto& [id, job] : jobs_) ClosePack(id, job);
}

void LogFiles::TakePending(JobId id, JobLog& job, bool closes) {
  if (job.seq == 0 || (job.pending.empty() && !closes)) return;
  writes_.push_back({{job.seq, SpoolPath(folder_, id.number, job.seq), job.bytes},
                     std::exchange(job.pending, {}),
                     closes});
}

TimePoint LogFiles::DueOf(const JobLog& job) const {
  if (job.followed) return job.opened + limits_.followed_age;
  const TimePoint old = job.opened + limits_.pack_age;
  return job.attempts > 0 ? old : std::min(old, job.last + limits_.quiet_age);
}

void LogFiles::ArmAge() {
  TimePoint due = TimePoint::max();
  for (const auto& [id, job] : jobs_) {
    if (job.seq != 0) due = std::min(due, DueOf(job));
  }
  if (due == age_due_) return;
  deps_.loop.Cancel(std::exchange(age_timer_, TimerId::kNone));
  age_due_ = due;
  if (due == TimePoint::max()) return;
  age_timer_ = deps_.loop.After(std::max(Duration{}, due - deps_.loop.Now()), [this] {
    age_timer_ = TimerId::kNone;
    age_due_ = TimePoint::max();
    OnAge();
  });
}

void LogFiles::OnAge() {
  const TimePoint now = deps_.loop.Now();
  for (auto& [id, job] : jobs_) {
    if (job.seq != 0 && DueOf(job) <= now) ClosePack(id, job);
  }
  ArmAge();
}

void LogFiles::FlushSoon() {
  if (writing_) return;
  const bool is_much = pending_bytes_ >= limits_.gather_bytes;
  if (gather_timer_ != TimerId::kNone) {
    if (!is_much || gather_is_over_) return;
    deps_.loop.Cancel(gather_timer_);
  }
  gather_is_over_ = is_much;
  gather_timer_ = deps_.loop.After(is_much ? Duration{} : limits_.gather, [this] {
    gather_timer_ = TimerId::kNone;
    if (!writing_) WriteNow();
  });
}

void LogFiles::Flush(std::function<void()> done) {
  flushed_ = std::move(done);
  if (!writing_) WriteNow();
}

void LogFiles::FlushAndUpload(std::function<void()> done) {
  CloseAllPacks();
  Flush([this, done = std::move(done)] { upload_.WhenIdle(done); });
}

namespace {

// Each file's bytes, in order. What the disk does not take becomes holes, which are written if it
// takes those; if not, the attempts' logs are short without a word.
template <typename Writes>
void WriteAll(const Writes& writes) {
  for (const auto& write : writes) {
    if (AppendSpool(write.file.path, write.bytes)) continue;
    const bool begins = write.bytes.starts_with("tmsp");
    const std::string whole = begins ? write.bytes : SpoolHead("") + write.bytes;
    const auto spool = ReadSpool(whole);
    if (!spool) continue;
    const std::string holes = HolesOf(*spool);
    (void)AppendSpool(write.file.path, begins ? holes : holes.substr(SpoolHead("").size()));
  }
}

}  // namespace

void LogFiles::WriteNow() {
  for (auto& [id, job] : jobs_) TakePending(id, job, false);
  if (writes_.empty()) {
    if (flushed_) std::exchange(flushed_, nullptr)();
    return;
  }
  writing_ = true;
  pending_bytes_ = 0;
  auto writes = std::make_shared<std::vector<Write>>(std::exchange(writes_, {}));
  deps_.worker.Run([writes] { WriteAll(*writes); },
                   [this, writes, alive = std::weak_ptr<char>(alive_)] {
                     if (alive.expired()) return;
                     writing_ = false;
                     for (Write& write : *writes) {
                       if (write.closes) upload_.Add(std::move(write.file));
                     }
                     if (flushed_) {
                       WriteNow();
                     } else if (pending_bytes_ > 0 || !writes_.empty()) {
                       FlushSoon();
                     }
                   });
}

}  // namespace tidemill
