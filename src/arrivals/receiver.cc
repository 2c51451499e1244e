// SPDX-License-Identifier: Apache-2.0
#include "arrivals/receiver.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemill {

Receiver::Receiver(Loop& loop, ArrivalQueue& queue, std::function<void()> on_change)
    : loop_(loop), queue_(queue), on_change_(std::move(on_change)) {}

void Receiver::SetOpen(bool open) {
  is_open_ = open;
  Pump();
}

std::vector<ArrivalMessage> Receiver::Take() {
  std::vector<ArrivalMessage> taken = std::exchange(held_, {});
  Pump();
  return taken;
}

void Receiver::Pump() {
  while (is_open_ && !waits_ && calls_ < calls_wanted_ && held_.size() < kHeldMost) {
    ++calls_;
    queue_.Receive([this, alive = std::weak_ptr<char>(alive_)](auto got) {
      if (!alive.expired()) OnAnswer(std::move(got));
    });
  }
}

void Receiver::OnAnswer(Result<std::vector<ArrivalMessage>> got) {
  --calls_;
  if (got) {
    was_answered_ = true;
    trouble_.reset();
    wait_ = kFirstWait;
    const bool is_full = got->size() >= queue_.full();
    calls_wanted_ = is_full ? std::min(calls_wanted_ + 1, kCallsMost) : 1;
    std::move(got->begin(), got->end(), std::back_inserter(held_));
  } else {
    trouble_ = std::move(got).error();
    calls_wanted_ = 1;
    if (!waits_) {
      waits_ = true;
      loop_.After(wait_, [this, alive = std::weak_ptr<char>(alive_)] {
        if (alive.expired()) return;
        waits_ = false;
        Pump();
      });
      wait_ = std::min(wait_ * 2, kLongestWait);
    }
  }
  Pump();
  if (!held_.empty() || trouble_) on_change_();
}

}  // namespace tidemill
