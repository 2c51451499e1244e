// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/loop.h"
#include "data/item_data.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"

namespace tidemill {

// The object store of a run: which outputs are there.
class SimBucket {
 public:
  SimBucket(FaultDice& dice, const ObjectFaults& faults) : dice_(dice), faults_(faults) {}

  Result<void> Put(const OutputOwner& owner) {
    if (dice_.Happens(faults_.unavailable)) return Fail(Code::kUnavailable, "503");
    stored_.insert({owner.job, owner.item});
    if (dice_.Happens(faults_.unknown)) return Fail(Code::kUnknown, "the answer was lost");
    return {};
  }
  bool Has(const std::string& job, std::int64_t item) const {
    return stored_.contains({job, item});
  }

 private:
  FaultDice& dice_;
  const ObjectFaults& faults_;
  std::set<std::pair<std::string, std::int64_t>> stored_;  // job, item
};

// A machine's way to it. Items have outputs here, and neither inputs nor checkpoints.
class SimData : public ItemData {
 public:
  SimData(Loop& loop, SimBucket& bucket) : loop_(loop), bucket_(bucket) {}

  DataFolders FoldersOf(JobId) override { return {"/data/in", "/data/out", "/data/checkpoint"}; }
  void Fetch(const DataPlace&, DataWork, Done<void> done) override { Answer<void>(done, {}); }
  void Store(const DataPlace&, DataWork, OutputOwner owner, Done<void> done) override {
    Answer<void>(done, bucket_.Put(owner));
  }
  void Exist(DataWork, Done<bool> done) override { Answer<bool>(done, false); }
  void Save(const DataPlace&, CheckpointWork, Done<void> done) override { Answer<void>(done, {}); }
  void DropSaves(const DataPlace&, CheckpointWork) override {}
  void Forget(const DataPlace&) override {}
  void KeepOnly(Left) override {}
  std::int64_t held_bytes() const override { return 0; }

 private:
  template <typename T>
  void Answer(Done<T> done, Result<T> result) {
    loop_.After(
        std::chrono::milliseconds(50),
        [alive = std::weak_ptr<char>(alive_), done = std::move(done), result = std::move(result)] {
          if (!alive.expired()) done(result);
        });
  }

  Loop& loop_;
  SimBucket& bucket_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
