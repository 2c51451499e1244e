// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/result.h"

namespace tidemill {

template <typename T>
struct Lasting {
  T value = {};
  std::optional<std::int64_t> expires_ms = {};  // since 1970; absent: it has no end
};

// When something that ends is asked for again, and until when it is given out. Pure.
struct KeptTimes {
  // Those who get it last have this long to use it.
  static constexpr std::int64_t kRenewEarlyMs = 15 * 60 * 1000;
  static constexpr std::int64_t kLastUseMs = 60 * 1000;
  // A cloud hands out the same one until shortly before its end: no need to ask at every use.
  static constexpr std::int64_t kPauseMs = 60 * 1000;

  std::int64_t renew_ms = 0;
  std::int64_t end_ms = 0;
  std::int64_t pause_ms = 0;

  static KeptTimes Of(std::int64_t now_ms, std::int64_t expires_ms) {
    const std::int64_t life = std::max<std::int64_t>(expires_ms - now_ms, 0);
    return {.renew_ms = expires_ms - std::min(kRenewEarlyMs, life / 4),
            .end_ms = expires_ms - std::min(kLastUseMs, life / 10),
            .pause_ms = std::min(kPauseMs, life / 20)};
  }
};

// Keeps something that ends, and fetches it anew in time: in the background while the old one is
// still good, so that nobody waits for it. One fetch at a time. A failed one is told to those who
// wait for it and is not kept. Loop thread only. Nothing survives a restart.
template <typename T>
class Kept {
 public:
  using Done = std::function<void(Result<T>)>;
  using Fetch = std::function<void(std::function<void(Result<Lasting<T>>)>)>;
  // More who wait for one fetch are told kExhausted: something is wrong by then.
  static constexpr std::size_t kWaitingMost = 10'000;

  Kept(Loop& loop, std::function<std::int64_t()> now_ms, Fetch fetch)
      : loop_(loop), now_ms_(std::move(now_ms)), fetch_(std::move(fetch)) {}
  // Whoever still waits hears nothing more.
  ~Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  // It turned out not to be good any more.
  void Forget() {
    value_.reset();
    times_.reset();
  }

  // Calls `done` once, never from inside Get.
  void Get(Done done) {
    const std::int64_t now = now_ms_();
    if (value_ && (!times_ || now < times_->end_ms)) {
      Soon(std::move(done), *value_);
      if (times_ && now >= times_->renew_ms && now >= not_before_ms_) Renew();
    } else if (waiting_.size() >= kWaitingMost) {
      Soon(std::move(done), Fail(Code::kExhausted, "too many wait for credentials"));
    } else {
      waiting_.push_back(std::move(done));
      Renew();
    }
  }

 private:
  void Soon(Done done, Result<T> result) {
    loop_.After(Duration::zero(), [alive = std::weak_ptr<char>(alive_), done = std::move(done),
                                   result = std::move(result)]() mutable {
      if (!alive.expired()) done(std::move(result));
    });
  }

  void Renew() {
    if (fetching_) return;
    fetching_ = true;
    // Not from inside Get, whatever `fetch` does.
    loop_.After(Duration::zero(), [this, alive = std::weak_ptr<char>(alive_)] {
      if (alive.expired()) return;
      fetch_([this, alive](Result<Lasting<T>> got) {
        if (!alive.expired()) OnFetched(std::move(got));
      });
    });
  }

  void OnFetched(Result<Lasting<T>> got) {
    fetching_ = false;
    const std::int64_t now = now_ms_();
    if (got) {
      value_ = std::move(got->value);
      times_.reset();
      if (got->expires_ms) times_ = KeptTimes::Of(now, *got->expires_ms);
    }
    not_before_ms_ = now + (times_ ? times_->pause_ms : 0);
    const std::weak_ptr<char> alive = alive_;
    for (Done& done : std::exchange(waiting_, {})) {
      if (alive.expired()) return;
      got ? done(*value_) : done(tl::unexpected<Error>(got.error()));
    }
  }

  // Constant after construction.
  Loop& loop_;
  const std::function<std::int64_t()> now_ms_;
  const Fetch fetch_;

  // Loop thread only.
  std::optional<T> value_;
  std::optional<KeptTimes> times_;  // of the value; absent: it has no end
  std::int64_t not_before_ms_ = 0;
  bool fetching_ = false;
  std::vector<Done> waiting_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
