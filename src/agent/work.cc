// SPDX-License-Identifier: Apache-2.0
#include "agent/work.h"

#include <algorithm>
#include <span>
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

void AddTo(Settlement& settlement, int offset, const Outcome& outcome) {
  switch (BudgetOf(outcome.cause)) {
    case Budget::kRetries:
      return settlement.failed.Set(offset);
    case Budget::kMemory:
      return settlement.memory.Set(offset);
    case Budget::kNone:
      break;
  }
  if (outcome.cause == Cause::kSucceeded) return settlement.ok.Set(offset);
  settlement.back.Set(offset);
  settlement.begun.Set(offset);
}

// How many of these, from the first on, one report can carry: what programs send back may be much
// more than the rest of it.
std::size_t CountThatFit(const std::vector<Outcome>& rows) {
  constexpr std::size_t kTexts = limits::kReportBytes / 2;  // the other half is for the numbers
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (; count < rows.size(); ++count) {
    bytes += rows[count].error.size() + rows[count].result.size();
    if (bytes > kTexts && count > 0) break;
  }
  return count;
}

Attempt AttemptAt(const Grant& grant, int offset, bool alone) {
  const std::int64_t item = grant.first_item + offset;
  return {{grant.lease.id, offset},        grant.lease.chunk,        item, grant.lease.round,
          AttemptsBefore(grant, item) + 1, grant.lease.memory_bytes, alone};
}

}  // namespace

void Work::AddLoad(const Held& held, int sign) {
  const Need need = held.need();
  Load& load = loads_[need];
  const int waiting = held.waiting.Count();
  load.waiting += sign * waiting;
  if (held.ready) {
    load.ready += sign * waiting;
    load.alone += sign * (held.waiting & held.alone).Count();
  }
  load.running += sign * held.running.Count();
  if (load.unfinished() == 0) loads_.erase(need);
}

bool Work::Add(const Grant& grant) {
  const Lease& lease = grant.lease;
  const auto [found, fresh] = held_.try_emplace(lease.id);
  if (!fresh) return false;
  Held& held = found->second;
  held.grant = grant;
  held.waiting = lease.mine;
  held.running = Bits(lease.mine.length());
  held.back = held.alone = Bits(lease.mine.length());
  held.final = Bits(lease.mine.length());
  order_[held.need()].push_back(lease.id);
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

std::optional<Attempt> Work::Pick(const Need& need) {
  const auto leases = order_.find(need);
  if (leases == order_.end()) return std::nullopt;
  const auto found = loads_.find(need);
  if (found == loads_.end() || found->second.ready == 0) return std::nullopt;
  Load& load = found->second;
  const bool alone = load.alone > 0;
  for (const LeaseId& id : leases->second) {
    Held& held = held_.at(id);
    if (!held.ready) continue;
    const int offset = (alone ? held.waiting & held.alone : held.waiting).FindFrom(0);
    if (offset < 0) continue;
    held.waiting.Clear(offset);
    held.running.Set(offset);
    --load.waiting;
    --load.ready;
    if (alone) --load.alone;
    ++load.running;
    return AttemptAt(held.grant, offset, alone);
  }
  return std::nullopt;
}

std::optional<Attempt> Work::Resume(const ItemKey& key) {
  const auto found = held_.find(key.lease);
  if (found == held_.end() || key.offset >= found->second.waiting.length()) return std::nullopt;
  Held& held = found->second;
  if (!held.waiting.Get(key.offset)) return std::nullopt;
  AddLoad(held, -1);
  held.waiting.Clear(key.offset);
  held.running.Set(key.offset);
  AddLoad(held, 1);
  return AttemptAt(held.grant, key.offset, false);
}

Work::Held* Work::FindRunning(const ItemKey& key) {
  const auto found = held_.find(key.lease);
  if (found == held_.end() || !found->second.running.Get(key.offset)) return nullptr;
  return &found->second;
}

Work::ItemState Work::StateOf(JobId job, std::int64_t item) const {
  for (const auto& [id, held] : held_) {
    const std::int64_t place = item - held.grant.first_item;
    const bool is_in = place >= 0 && place < held.waiting.length();
    if (held.grant.lease.chunk.job != job || !is_in) continue;
    const auto offset = static_cast<int>(place);
    if (held.waiting.Get(offset)) return ItemState::kWaits;
    if (held.running.Get(offset)) return ItemState::kRuns;
  }
  return ItemState::kNotHeld;
}

bool Work::Runs(const ItemKey& key) const {
  const auto found = held_.find(key.lease);
  return found != held_.end() && found->second.running.Get(key.offset);
}

void Work::TakeOut(Held& held, int offset) {
  if (!held.has_news()) ++ended_;
  held.running.Clear(offset);
  held.lost.erase(offset);
  const auto load = loads_.find(held.need());
  --load->second.running;
  if (load->second.unfinished() == 0) loads_.erase(load);
  if (held.over()) whole_ = true;
}

void Work::Finish(const ItemKey& key, Outcome outcome, bool final) {
  Held* held = FindRunning(key);
  if (held == nullptr) return;
  TakeOut(*held, key.offset);
  held->ended.push_back(std::move(outcome));
  if (final) held->final.Set(key.offset);
}

void Work::Return(const ItemKey& key) {
  Held* held = FindRunning(key);
  if (held == nullptr) return;
  auto lost = held->lost.extract(key.offset);
  TakeOut(*held, key.offset);
  if (lost) {
    held->ended.push_back(std::move(lost.mapped()));
  } else {
    held->back.Set(key.offset);
  }
}

void Work::PutBack(const ItemKey& key, std::optional<Outcome> lost, bool alone) {
  Held* held = FindRunning(key);
  if (held == nullptr) return;
  AddLoad(*held, -1);
  held->running.Clear(key.offset);
  held->waiting.Set(key.offset);
  if (alone) held->alone.Set(key.offset);
  AddLoad(*held, 1);
  if (lost) held->lost.insert_or_assign(key.offset, *std::move(lost));
}

void Work::GiveBack(Held& held) {
  if (held.waiting.None()) return;
  if (!held.has_news()) ++ended_;
  AddLoad(held, -1);
  Bits waiting = std::exchange(held.waiting, Bits(held.waiting.length()));
  AddLoad(held, 1);
  std::erase_if(held.lost, [&held, &waiting](auto& entry) {
    if (!waiting.Get(entry.first)) return false;  // it runs again
    waiting.Clear(entry.first);
    held.ended.push_back(std::move(entry.second));
    return true;
  });
  held.back |= waiting;
  if (held.over()) whole_ = true;
}

void Work::GiveBack(LeaseId lease) {
  const auto found = held_.find(lease);
  if (found != held_.end()) GiveBack(found->second);
}

void Work::GiveBack(const Need& need) {
  const auto leases = order_.find(need);
  if (leases == order_.end()) return;
  for (const LeaseId& id : leases->second) GiveBack(held_.at(id));
}

void Work::GiveBack(JobId job) {
  for (auto leases = order_.lower_bound(Need{job});
       leases != order_.end() && leases->first.job == job; ++leases) {
    for (const LeaseId& id : leases->second) GiveBack(held_.at(id));
  }
}

void Work::Forget(std::map<LeaseId, Held>::iterator held) {
  const auto leases = order_.find(held->second.need());
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

bool Work::HasUnfinished(JobId job) const {
  const auto found = loads_.lower_bound(Need{job});
  return found != loads_.end() && found->first.job == job;
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
  settlement.back = held.back.Resized(limits::kItemsPerChunk);
  settlement.final = Bits(limits::kItemsPerChunk);
  const std::size_t count = CountThatFit(held.ended);
  const std::span<const Outcome> told(held.ended.data(), count);
  for (const Outcome& outcome : told) {
    const auto offset = static_cast<int>(outcome.item - held.grant.first_item);
    AddTo(settlement, offset, outcome);
    if (!held.final.Get(offset)) continue;
    settlement.final.Set(offset);
    held.final.Clear(offset);
  }
  if (!told.empty()) settlement.body = EncodeBlock(told);
  held.ended.erase(held.ended.begin(), held.ended.begin() + static_cast<std::ptrdiff_t>(count));
  held.back = Bits(held.back.length());
  ++held.unsaid;
  if (!held.has_news()) --ended_;
  return settlement;
}

const std::deque<Settlement>& Work::Unsaid() {
  std::size_t bytes = 0;
  for (const Settlement& settlement : unsaid_) bytes += settlement.body.size();
  whole_ = false;
  for (auto& [id, held] : held_) {
    while (held.has_news()) {
      if (bytes > kSaidBytes || unsaid_.size() >= limits::kSettlementsPerSync) {
        whole_ = true;  // there is more: come again soon
        return unsaid_;
      }
      unsaid_.push_back(Close(held));
      bytes += unsaid_.back().body.size();
    }
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
