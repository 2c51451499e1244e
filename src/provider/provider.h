// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "model/pool.h"

namespace tidemill {

// A machine that is to be made.
struct MachineOrder {
  std::string name;        // unique in its pool for all time: what is ordered twice is made once
  std::string join_token;  // empty: see Provider::joins_by_token
};

// What kept a provider from making all that was ordered; for people, in its own words.
struct Refused {
  std::vector<std::string> names;     // of those that were not made
  std::string words;                  // empty: nothing was refused
  std::optional<std::int64_t> quota;  // machines that there may be, if that was why
};

// A machine as its provider lists it.
struct ListedAt {
  std::string name;
  TimePoint since{};               // billed from then on, microseconds since 1970
  std::optional<TimePoint> ended;  // billed until then; nothing: it is there
  std::string id = {};             // what its provider calls it, if that is not its name
};

// Whoever makes machines and ends them. Every call names its machines, so it may be said again at
// any time, and by two at once. Answers come later, on the loop thread, once. Loop thread only.
class Provider {
 public:
  virtual ~Provider() = default;

  // Its machines are given a token to join with. Those of clouds prove what they are instead.
  virtual bool joins_by_token() const { return false; }

  // Makes what the pool's machines come from, as a group and its template, or changes it to what
  // the settings say. kInvalid: what is wrong with them, for whoever wrote them.
  virtual void Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) = 0;
  // Takes away what Prepare has made; what it found there stays. No machine may be there.
  virtual void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) = 0;
  // Makes those that are neither there nor ended; answers when it knows which were refused.
  virtual void Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
                    std::function<void(Result<Refused>)> done) = 0;
  // Ends those that are there. What runs on them is given the time to say goodbye.
  virtual void End(const PoolSettings& pool, std::vector<std::string> names,
                   std::function<void(Result<void>)> done) = 0;
  // All machines of the pool that are there, and those that ended within the last hour at least.
  virtual void List(const PoolSettings& pool,
                    std::function<void(Result<std::vector<ListedAt>>)> done) = 0;
};

}  // namespace tidemill
