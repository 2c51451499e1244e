// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "model/plan.h"
#include "provider/provider.h"

namespace tidemill {

// Machines in memory, which come and go as the play says. Loop thread only.
class FakeProvider : public Provider {
 public:
  struct Play {
    std::optional<std::int64_t> capacity = {};  // machines at once, of all pools
    std::optional<std::int64_t> quota = {};     // the same, and the account may have no more
    std::optional<Error> error = {};            // every call is answered with it, and does nothing
    Duration answering = std::chrono::milliseconds(10);
    Duration listing_late{};  // lists are as all was so long ago
    Duration booting = std::chrono::seconds(1);
    std::map<std::string, Duration> booting_in = {};  // the same of some pools, by name
    Duration ending = std::chrono::seconds(1);        // between End and the end
    std::set<std::string> never_up = {};              // machines that are there and never come up
    // Asked once for each machine that is made: it is one of those, too.
    std::function<bool()> is_never_up = [] { return false; };
    // Asked once for each machine that ends: it is in no list any more.
    std::function<bool()> is_forgotten = [] { return false; };
    // One has come up: whoever plays agents starts one. One is over: its agent is gone.
    std::function<void(const PoolSettings&, const MachineOrder&)> on_up = {};
    std::function<void(const std::string& pool, const std::string& name)> on_over = {};
  };

  // `clock` gives microseconds since 1970; all outlive it.
  FakeProvider(Loop& loop, std::function<TimePoint()> clock);

  bool joins_by_token() const override { return true; }
  void Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
            std::function<void(Result<Refused>)> done) override;
  void End(const PoolSettings& pool, std::vector<std::string> names,
           std::function<void(Result<void>)> done) override;
  void List(const PoolSettings& pool,
            std::function<void(Result<std::vector<ListedAt>>)> done) override;

  // It ends by itself, at once: a spot machine that was taken away, or one whose power is gone.
  void Kill(const PoolSettings& pool, const std::string& name);
  Play& play() { return play_; }
  std::int64_t there() const;
  std::int64_t there(const PoolSettings& pool) const;

  // Of each machine that has ended, what it is billed for.
  struct Billed {
    std::string pool;
    std::string name;
    TimePoint since{};
    TimePoint ended{};
  };
  const std::vector<Billed>& bill() const { return bill_; }

 private:
  struct Key {
    std::string project;
    std::string pool;
    std::string name;
    auto operator<=>(const Key&) const = default;
  };
  struct Machine {
    TimePoint since{};
    std::optional<TimePoint> ended = {};
    bool ending = false;
    bool forgotten = false;
  };
  static Key KeyOf(const PoolSettings& pool, const std::string& name);
  template <typename T>
  void Answer(std::function<void(Result<T>)> done, Result<T> result);
  std::optional<std::int64_t> Room() const;
  void Over(const Key& key);

  Loop& loop_;
  const std::function<TimePoint()> clock_;
  Play play_;
  std::map<Key, Machine> machines_;
  std::vector<Billed> bill_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
