// SPDX-License-Identifier: Apache-2.0
#include "base/virtual_loop.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tidemill {
namespace {

// A timer is its slot and the slot's life at that time; never 0.
TimerId TimerOf(std::size_t slot, std::uint32_t life) {
  return TimerId{(std::uint64_t{life} << 32) | (slot + 1)};
}

// Fewer that were cancelled are not worth a look at all.
constexpr std::size_t kFewCancelled = 1024;

}  // namespace

bool VirtualLoop::IsLater(const Due& a, const Due& b) {
  return std::tie(a.at, a.order, a.asked) > std::tie(b.at, b.order, b.asked);
}

VirtualLoop::Slot* VirtualLoop::Find(TimerId timer) {
  const auto number = static_cast<std::uint64_t>(timer);
  const std::uint64_t slot = (number & 0xffffffff) - 1;
  if (timer == TimerId::kNone || slot >= slots_.size()) return nullptr;
  Slot& found = slots_[slot];
  return found.call && found.life == number >> 32 ? &found : nullptr;
}

std::function<void()> VirtualLoop::Take(Slot& slot) {
  std::function<void()> call = std::move(slot.call);
  slot.call = nullptr;
  ++slot.life;
  free_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
  return call;
}

TimerId VirtualLoop::After(Duration delay, std::function<void()> call) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].call = std::move(call);
  const TimerId timer = TimerOf(slot, slots_[slot].life);
  due_.push_back({now_ + std::max(delay, Duration::zero()), random_.Next(), ++asked_, timer});
  std::push_heap(due_.begin(), due_.end(), IsLater);
  return timer;
}

void VirtualLoop::Cancel(TimerId timer) {
  Slot* slot = Find(timer);
  if (slot == nullptr) return;
  // What it holds goes last: that may cancel others.
  const std::function<void()> call = Take(*slot);
  if (++cancelled_ > kFewCancelled && cancelled_ > due_.size() / 2) DropCancelled();
}

void VirtualLoop::DropCancelled() {
  std::erase_if(due_, [this](const Due& due) { return Find(due.timer) == nullptr; });
  std::make_heap(due_.begin(), due_.end(), IsLater);
  cancelled_ = 0;
}

bool VirtualLoop::Step() {
  while (!due_.empty()) {
    std::pop_heap(due_.begin(), due_.end(), IsLater);
    const Due due = due_.back();
    due_.pop_back();
    Slot* slot = Find(due.timer);
    if (slot == nullptr) {
      --cancelled_;
      continue;
    }
    now_ = due.at;
    ++steps_;
    Take (*slot)();
    return true;
  }
  return false;
}

void VirtualWorker::Run(std::function<void()> work, std::function<void()> done) {
  const auto some_time = [this] {
    return Duration(static_cast<std::int64_t>(random_.Below(8000)));
  };
  const std::weak_ptr<char> alive = alive_;
  loop_.After(some_time(),
              [this, alive, some_time, work = std::move(work), done = std::move(done)]() mutable {
                if (alive.expired()) return;
                work();
                loop_.After(some_time(), [alive, done = std::move(done)] {
                  if (!alive.expired()) done();
                });
              });
}

}  // namespace tidemill
