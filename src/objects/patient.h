// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "cloud/web.h"

namespace tidemill {

// How often a store's calls may be tried again, all together: a store that is down must not get
// many times the calls that it could not answer before. Pure.
class RetryBudget {
 public:
  // As AWS's own clients have it: a hundred tries in a row, then one for ten calls that succeed.
  static constexpr int kMost = 500;
  static constexpr int kTryCosts = 5;

  bool Take() {
    if (left_ < kTryCosts) return false;
    left_ -= kTryCosts;
    return true;
  }
  void OnSuccess() { left_ = left_ < kMost ? left_ + 1 : kMost; }

 private:
  int left_ = kMost;
};

// What an answer means for the call.
struct Judgement {
  enum class What {
    kTake,       // it is the answer
    kAgain,      // after a while: it failed for a moment
    kElsewhere,  // at once: it was sent to the wrong place, which is known better now
    kFail,
  };
  What what = What::kTake;
  Error error = {};  // of all but kTake
};

// Calls to a store, each tried again within limits. Loop thread only. Nothing survives a restart.
class Patient {
 public:
  static constexpr int kTriesMost = 5;
  static constexpr int kElsewhereMost = 2;
  // The wait before the n-th further try is random, up to kWait * 2^n, and never over kWaitMost.
  static constexpr std::chrono::milliseconds kWait{100};
  static constexpr std::chrono::milliseconds kWaitMost{5'000};

  struct Prepared {
    Origin origin = {};
    HttpCall call = {};
  };
  // Makes the call anew for each try: what is signed is good for minutes only.
  using Prepare = std::function<void(std::function<void(Result<Prepared>)>)>;
  using Judge = std::function<Judgement(const HttpResponse&)>;
  using Done = std::function<void(Result<HttpResponse>)>;

  Patient(AsioLoop& loop, HttpClientOptions options, Random& random);
  ~Patient();

  // All calls must be idempotent. An error is that of the last try.
  void Run(Prepare prepare, Judge judge, Done done);

 private:
  struct Trying;
  void Try(const std::shared_ptr<Trying>& trying);
  void OnAnswer(const std::shared_ptr<Trying>& trying, Result<HttpResponse> got);
  void Again(const std::shared_ptr<Trying>& trying, Error error);

  AsioLoop& loop_;
  Random& random_;
  Web web_;
  RetryBudget budget_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
