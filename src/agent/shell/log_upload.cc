// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/log_upload.h"

#include <algorithm>
#include <utility>

namespace tidemill {

LogUpload::LogUpload(Loop& loop, Worker& worker, Log& log, PutObject put, Limits limits)
    : loop_(loop), worker_(worker), log_(log), put_(std::move(put)), limits_(limits) {}

LogUpload::~LogUpload() { loop_.Cancel(timer_); }

void LogUpload::Add(SpoolFile file) {
  bytes_ += file.bytes;
  const std::uint64_t seq = file.seq;
  files_.try_emplace(seq, Entry{.file = std::move(file)});
  MakeRoom();
  Next();
}

void LogUpload::WhenIdle(std::function<void()> done) {
  when_idle_ = std::move(done);
  Next();
}

bool LogUpload::idle() const {
  return busy_ == 0 && std::all_of(files_.begin(), files_.end(),
                                   [](const auto& entry) { return entry.second.stays; });
}

void LogUpload::Next() {
  if (timer_ == TimerId::kNone) {
    for (auto& [seq, entry] : files_) {
      if (busy_ >= limits_.at_once) break;
      if (!entry.busy && !entry.stays) Start(seq);
    }
  }
  if (when_idle_ && idle()) std::exchange(when_idle_, nullptr)();
}

void LogUpload::Start(std::uint64_t seq) {
  Entry& entry = files_.at(seq);
  entry.busy = true;
  ++busy_;
  auto packed = std::make_shared<Result<SpooledPack>>(Fail(Code::kInternal, "not run"));
  worker_.Run([packed, path = entry.file.path] { *packed = PackSpool(path); },
              [this, seq, packed, alive = std::weak_ptr<char>(alive_)] {
                if (!alive.expired()) Packed(seq, std::move(*packed));
              });
}

void LogUpload::Packed(std::uint64_t seq, Result<SpooledPack> packed) {
  if (!packed) {
    log_.Warn("logs.damaged", {{"reason", packed.error().reason}});
    return Removed(seq);  // from the list alone: a person may want to look at it
  }
  Entry& entry = files_.at(seq);
  if (packed->url.empty()) {
    entry.stays = true;
    entry.busy = false;
    --busy_;
    return Next();
  }
  if (packed->pack.empty()) return Stored(seq, {});
  put_(packed->url, std::move(packed->pack),
       [this, seq, alive = std::weak_ptr<char>(alive_)](const Result<void>& stored) {
         if (!alive.expired()) Stored(seq, stored);
       });
}

void LogUpload::Stored(std::uint64_t seq, const Result<void>& stored) {
  Entry& entry = files_.at(seq);
  if (stored) {
    failures_ = 0;
    worker_.Run([path = entry.file.path] { RemoveSpool(path); },
                [this, seq, alive = std::weak_ptr<char>(alive_)] {
                  if (!alive.expired()) Removed(seq);
                });
    return;
  }
  entry.busy = false;
  --busy_;
  if (failures_ == 0) log_.Warn("logs.not_stored", {{"reason", stored.error().reason}});
  const Duration wait =
      std::min(limits_.first_retry * (1 << std::min(failures_++, 10)), limits_.longest_retry);
  MakeRoom();
  if (timer_ != TimerId::kNone) return;
  timer_ = loop_.After(wait, [this] {
    timer_ = TimerId::kNone;
    Next();
  });
}

void LogUpload::Removed(std::uint64_t seq) {
  const auto found = files_.find(seq);
  bytes_ -= found->second.file.bytes;
  files_.erase(found);
  --busy_;
  Next();
}

void LogUpload::MakeRoom() {
  std::size_t over = bytes_ - std::min(bytes_, limits_.folder_bytes);
  for (auto& [seq, entry] : files_) {
    if (over == 0) return;
    if (entry.busy || entry.shrunk) continue;
    over -= std::min(over, entry.file.bytes);
    entry.busy = entry.shrunk = true;
    ++busy_;
    auto left = std::make_shared<Result<std::size_t>>(Fail(Code::kInternal, "not run"));
    worker_.Run([left, path = entry.file.path] { *left = ShrinkSpool(path); },
                [this, number = seq, left, alive = std::weak_ptr<char>(alive_)] {
                  if (alive.expired()) return;
                  Entry& shrunk = files_.at(number);
                  const std::size_t bytes = *left ? **left : shrunk.file.bytes;
                  bytes_ -= shrunk.file.bytes - bytes;
                  shrunk.file.bytes = bytes;
                  if (bytes == 0) return Removed(number);
                  shrunk.busy = false;
                  --busy_;
                  Next();
                });
  }
}

}  // namespace tidemill
