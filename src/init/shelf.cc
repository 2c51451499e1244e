// SPDX-License-Identifier: Apache-2.0
#include "init/shelf.h"

#include <algorithm>
#include <utility>

namespace tidemill::init {

bool Shelf::Add(WaitingItem item) {
  if (waiting_.size() + held_.size() >= kItemsMost) return false;
  if (waiting_bytes_ + item.json.size() > kWaitingBytesMost) return false;
  waiting_bytes_ += item.json.size();
  waiting_.push_back(std::move(item));
  return true;
}

bool Shelf::MayTake() const {
  if (waiting_.empty()) return false;
  if (held_.empty()) return true;
  const WaitingItem& first = waiting_.front();
  return !first.alone && !held_.front().alone && FindName(first.name) == nullptr;
}

std::string Shelf::Take(std::size_t most, const Moment& moment) {
  std::string json;
  for (std::size_t i = 0; i < most && MayTake(); ++i) {
    WaitingItem item = *DropFirst();
    const bool has_end = item.timeout_us > 0 && item.timeout_us < kNever - moment.now_us;
    if (i > 0) json.push_back(',');
    json.append(item.json);
    held_.push_back({.number = item.number,
                     .name = item.name,
                     .deadline_us = has_end ? moment.now_us + item.timeout_us : kNever,
                     .grace_us = item.grace_us,
                     .alone = item.alone,
                     .taken_us = moment.now_us,
                     .start_ms = moment.wall_ms,
                     .oom_kills = moment.oom_kills,
                     .tag = std::move(item.tag)});
  }
  return json;
}

std::optional<std::vector<HeldItem>> Shelf::Release(const std::vector<std::uint64_t>& names) {
  std::vector<bool> let_go(held_.size(), false);
  std::vector<HeldItem> released;
  for (const std::uint64_t name : names) {
    std::size_t at = 0;
    while (at < held_.size() && (held_[at].name != name || let_go[at])) ++at;
    if (at == held_.size()) return std::nullopt;
    let_go[at] = true;
    released.push_back(held_[at]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (let_go[i]) continue;
    if (kept != i) held_[kept] = std::move(held_[i]);
    ++kept;
  }
  held_.resize(kept);
  return released;
}

std::vector<HeldItem> Shelf::ReleaseAll() { return std::exchange(held_, {}); }

std::optional<WaitingItem> Shelf::DropFirst() {
  if (waiting_.empty()) return std::nullopt;
  WaitingItem item = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= item.json.size();
  return item;
}

std::optional<WaitingItem> Shelf::Drop(std::uint64_t number) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [number](const auto& item) { return item.number == number; });
  if (found == waiting_.end()) return std::nullopt;
  WaitingItem item = std::move(*found);
  waiting_bytes_ -= item.json.size();
  waiting_.erase(found);
  return item;
}

HeldItem* Shelf::Find(std::uint64_t number) {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [number](const auto& item) { return item.number == number; });
  return found == held_.end() ? nullptr : &*found;
}

const HeldItem* Shelf::FindName(std::uint64_t name) const {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [name](const auto& item) { return item.name == name; });
  return found == held_.end() ? nullptr : &*found;
}

std::int64_t Shelf::deadline_us() const {
  std::int64_t first = kNever;
  for (const HeldItem& item : held_) {
    if (!item.timed_out && !item.stopped) first = std::min(first, item.deadline_us);
  }
  return first;
}

std::optional<std::int64_t> Shelf::TimeOut(std::int64_t now_us) {
  std::optional<std::int64_t> grace_us;
  for (HeldItem& item : held_) {
    if (item.timed_out || item.stopped || item.deadline_us > now_us) continue;
    item.timed_out = true;
    if (!grace_us) grace_us = item.grace_us;
  }
  return grace_us;
}

}  // namespace tidemill::init
