// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the agent.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop.h"
#include "data/item_data.h"

namespace tidemill {

// A store that does what the test says, after a while.
class PlayedData : public ItemData {
 public:
  explicit PlayedData(Loop& loop) : loop_(loop) {}

  DataFolders FoldersOf(JobId) override { return {"/data/in", "/data/out", "/data/checkpoint"}; }
  void Fetch(const DataPlace& place, DataWork work, Done<void> done) override {
    held.insert(place);
    most_held = std::max(most_held, held.size());
    loop_.After(fetching,
                [this, work, done] { done(fetch(work.inputs.empty() ? "" : work.inputs[0].url)); });
  }
  void Store(const DataPlace& place, DataWork, OutputOwner owner, Done<void> done) override {
    EXPECT_TRUE(held.contains(place));
    ++stores;
    owners.push_back(owner);
    loop_.After(storing, [this, owner, done] { done(store(owner.item)); });
  }
  void Exist(DataWork work, Done<bool> done) override {
    loop_.After(std::chrono::milliseconds(1),
                [this, work, done] { done(exist(work.outputs[0].url)); });
  }
  void Save(const DataPlace& place, CheckpointWork work, Done<void> done) override {
    EXPECT_TRUE(held.contains(place));
    EXPECT_FALSE(std::exchange(saving[place], true)) << "two at a time";
    saves.push_back(std::move(work));
    loop_.After(save_takes, [this, place, done] {
      saving[place] = false;
      done(save());
    });
  }
  void DropSaves(const DataPlace&, CheckpointWork work) override { dropped.push_back(work.url); }
  void Forget(const DataPlace& place) override { held.erase(place); }
  void KeepOnly(Left left) override { kept.push_back(std::move(left)); }
  std::int64_t held_bytes() const override { return std::ssize(held) * each_bytes; }

  Duration fetching = std::chrono::milliseconds(50);
  Duration storing = std::chrono::milliseconds(50);
  std::int64_t each_bytes = 1000;
  std::function<Result<void>(const std::string&)> fetch = [](auto&) { return Result<void>(); };
  std::function<Result<void>(std::int64_t)> store = [](auto) { return Result<void>(); };
  std::function<Result<bool>(const std::string&)> exist = [](auto&) { return false; };
  Duration save_takes = std::chrono::milliseconds(50);
  std::function<Result<void>()> save = [] { return Result<void>(); };
  std::map<DataPlace, bool> saving;
  std::vector<CheckpointWork> saves;
  std::vector<std::string> dropped;
  std::set<DataPlace> held;
  std::size_t most_held = 0;
  int stores = 0;
  std::vector<OutputOwner> owners;
  std::vector<Left> kept;

 private:
  Loop& loop_;
};

}  // namespace tidemill
