// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "provider/provider.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"

namespace tidemill {

// A provider as one server sees it: throttled, and answers get lost after it has done what it was
// asked. Dropped with its server, it answers nothing more.
class FaultyProvider : public Provider {
 public:
  struct Deps {
    Loop& loop;
    Provider& provider;
    FaultDice& dice;
    const CloudFaults& faults;
    // The provider is asked to end these now. Answers which it will end.
    std::function<std::vector<std::string>(const PoolSettings&, std::vector<std::string>)> on_end;
  };
  explicit FaultyProvider(Deps deps) : deps_(std::move(deps)) {}

  bool joins_by_token() const override { return deps_.provider.joins_by_token(); }
  void Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) override {
    if (Throttled(done)) return;
    deps_.provider.Prepare(pool, MayLose(std::move(done)));
  }
  void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) override {
    if (Throttled(done)) return;
    deps_.provider.Remove(pool, MayLose(std::move(done)));
  }
  void Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
            std::function<void(Result<Refused>)> done) override {
    if (Throttled(done)) return;
    deps_.provider.Make(pool, std::move(machines), MayLose(std::move(done)));
  }
  void End(const PoolSettings& pool, std::vector<std::string> names,
           std::function<void(Result<void>)> done) override {
    if (Throttled(done)) return;
    deps_.provider.End(pool, deps_.on_end(pool, std::move(names)), MayLose(std::move(done)));
  }
  void List(const PoolSettings& pool,
            std::function<void(Result<std::vector<ListedAt>>)> done) override {
    if (Throttled(done)) return;
    deps_.provider.List(pool, MayLose(std::move(done)));
  }

 private:
  template <typename T>
  bool Throttled(const std::function<void(Result<T>)>& done) {
    if (!deps_.dice.Happens(deps_.faults.error)) return false;
    deps_.loop.After(std::chrono::milliseconds(10),
                     [done = Kept(done)] { done(Fail(Code::kUnavailable, "throttled")); });
    return true;
  }
  template <typename T>
  std::function<void(Result<T>)> MayLose(std::function<void(Result<T>)> done) {
    if (!deps_.dice.Happens(deps_.faults.unknown)) return Kept(std::move(done));
    return [done = Kept(std::move(done))](const Result<T>&) {
      done(Fail(Code::kUnknown, "the provider's answer was lost"));
    };
  }
  // Nothing comes of it after this is gone.
  template <typename T>
  std::function<void(Result<T>)> Kept(std::function<void(Result<T>)> done) {
    return [alive = std::weak_ptr<char>(alive_), done = std::move(done)](Result<T> result) {
      if (!alive.expired()) done(std::move(result));
    };
  }

  const Deps deps_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
