// SPDX-License-Identifier: Apache-2.0
#include "agent/work.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "report/block.h"

namespace tidemill {
namespace {

// Half of what a sync may have: base64 and the rest of it need room.
constexpr std::size_t kSaidBytes = limits::kSyncBytes / 2;

std::int32_t AttemptsBefore(const Grant& grant, std::int64_t item) {
  for (const ItemTry& item_try : grant.tries) {
    if (item_try.item == item) return item_try.attempts;
  }
  return 0;
}

}  // namespace

void Work::AddLoad(const Held& held, int sign) {
  const JobId job = held.grant.lease.chunk.job;
  Load& load = loads_[job];
  const int waiting = held.waiting.Count();
  load.waiting += sign * waiting;
  if (held.ready) load.ready += sign * waiting;
  load.running += sign * held.running.Count();
  if (load.unfinished() == 0) loads_.erase(job);
}

bool Work::Add(const Grant& grant) {
  const Lease& lease = grant.lease;
  const auto [found, fresh] = held_.try_emplace(lease.id);
  if (!fresh) return false;
  Held& held = found->second;
  held.grant = grant;
  held.waiting = lease.mine;
  held.running = Bits(lease.mine.length());
  held.back = Bits(lease.mine.length());
  order_[lease.chunk.job].push_back(lease.id);
  AddLoad(held, 1);
  return true;
}

void Work::MakeReady(LeaseId lease) {
  const auto found = held_.find(lease);
  if (found == held_.end() || found->second.ready) return;
  AddLoad(found->second, -1);
  found->second.ready = true;
  AddLoad(found->second, 1);
}

std::optional<Attempt> Work::Pick(JobId job) {
  const auto leases = order_.find(job);
  if (leases == order_.end()) return std::nullopt;
  for (const LeaseId& id : leases->second) {
    Held& held = held_.at(id);
    const int offset = held.ready ? held.waiting.FindFrom(0) : -1;
    if (offset < 0) continue;
    held.waiting.Clear(offset);
    held.running.Set(offset);
    Load& load = loads_.at(job);
    --load.waiting;
    --load.ready;
    ++load.running;
    const std::int64_t item = held.grant.first_item + offset;
    return Attempt{{id, offset},
                   held.grant.lease.chunk,
                   item,
                   held.grant.lease.round,
                   AttemptsBefore(held.grant, item) + 1};
  }
  return std::nullopt;
}

Work::Held* Work::FindRunning(const ItemKey& key) {
  const auto found = held_.find(key.lease);
  if (found == held_.end() || !found->second.running.Get(key.offset)) return nullptr;
  return &found->second;
}

bool Work::Runs(const ItemKey& key) const {
  const auto found = held_.find(key.lease);
  return found != held_.end() && found->second.running.Get(key.offset);
}

void Work::Finish(const ItemKey& key, Outcome outcome) {
  Held* held = FindRunning(key);
  if (held == nullptr) return;
  if (!held->has_news()) ++ended_;
  held->running.Clear(key.offset);
  held->ended.push_back(std::move(outcome));
  const auto load = loads_.find(held->grant.lease.chunk.job);
  --load->second.running;
  if (load->second.unfinished() == 0) loads_.erase(load);
  if (held->over()) whole_ = true;
}

void Work::PutBack(const ItemKey& key) {
  Held* held = FindRunning(key);
  if (held == nullptr) return;
  AddLoad(*held, -1);
  held->running.Clear(key.offset);
  held->waiting.Set(key.offset);
  AddLoad(*held, 1);
}

void Work::GiveBack(JobId job) {
  const auto leases = order_.find(job);
  if (leases == order_.end()) return;
  for (const LeaseId& id : leases->second) {
    Held& held = held_.at(id);
    if (held.waiting.None()) continue;
    if (!held.has_news()) ++ended_;
    AddLoad(held, -1);
    held.back |= std::exchange(held.waiting, Bits(held.waiting.length()));
    AddLoad(held, 1);
    if (held.over()) whole_ = true;
  }
}

void Work::Forget(std::map<LeaseId, Held>::iterator held) {
  const JobId job = held->second.grant.lease.chunk.job;
  const auto leases = order_.find(job);
  std::erase(leases->second, held->first);
  if (leases->second.empty()) order_.erase(leases);
  held_.erase(held);
}

void Work::Drop(LeaseId lease) {
  const auto found = held_.find(lease);
  if (found == held_.end()) return;
  AddLoad(found->second, -1);
  if (found->second.has_news()) --ended_;
  std::erase_if(unsaid_, [&lease](const Settlement& said) { return said.lease == lease; });
  Forget(found);
}

void Work::Clear() {
  held_.clear();
  order_.clear();
  loads_.clear();
  unsaid_.clear();
  ended_ = 0;
  whole_ = false;
}

std::vector<LeaseId> Work::Known() const {
  std::vector<LeaseId> known;
  for (const auto& [id, held] : held_) known.push_back(id);
  return known;
}

std::vector<ChunkKey> Work::Chunks() const {
  std::vector<ChunkKey> chunks;
  for (const auto& [id, held] : held_) chunks.push_back(held.grant.lease.chunk);
  return chunks;
}

Settlement Work::Close(Held& held) {
  Settlement settlement;
  settlement.lease = held.grant.lease.id;
  settlement.seq = first_seq_ + settlements_++ % kSeqs;
  for (const Outcome& outcome : held.ended) {
    const int offset = static_cast<int>(outcome.item - held.grant.first_item);
    (outcome.cause == Cause::kSucceeded ? settlement.ok : settlement.failed).Set(offset);
  }
  settlement.back = held.back.Resized(limits::kItemsPerChunk);
  if (!held.ended.empty()) settlement.body = EncodeBlock(held.ended);
  held.ended.clear();
  held.back = Bits(held.back.length());
  ++held.unsaid;
  --ended_;
  return settlement;
}

const std::deque<Settlement>& Work::Unsaid() {
  std::size_t bytes = 0;
  for (const Settlement& settlement : unsaid_) bytes += settlement.body.size();
  whole_ = false;
  for (auto& [id, held] : held_) {
    if (!held.has_news()) continue;
    if (bytes > kSaidBytes || unsaid_.size() >= limits::kSettlementsPerSync) {
      whole_ = true;  // there is more: come again soon
      break;
    }
    unsaid_.push_back(Close(held));
    bytes += unsaid_.back().body.size();
  }
  return unsaid_;
}

void Work::Heard(std::size_t count) {
  for (; count > 0; --count) {
    const auto held = held_.find(unsaid_.front().lease);
    unsaid_.pop_front();
    --held->second.unsaid;
    if (held->second.over() && held->second.unsaid == 0 && !held->second.has_news()) Forget(held);
  }
}

}  // namespace tidemill
