// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cloud/world.h"
#include "data/item_data.h"
#include "data/job_cache.h"
#include "net/asio_loop.h"

namespace tidemill {

// ItemData and JobCache on a thread of their own, with its own loop and its own connections to the
// stores: a disk or a store that is slow holds up no heartbeat.
class DataThread : public ItemData, public JobCache {
 public:
  struct Options {
    std::string root;  // a folder of its own
    CloudWorld world;
    // Below which file:// URLs may be. We may be root, and a job's spec is anybody's.
    std::vector<std::string> files;
    // What JobCache keeps; 0: half of the disk, as far as it is free.
    std::int64_t cache_bytes = 0;
  };
  // The loop outlives it.
  DataThread(AsioLoop& loop, Options options);
  // What is under way ends.
  ~DataThread() override;

  DataFolders FoldersOf(JobId job) override;
  void Fetch(const DataPlace& place, DataWork work, ItemData::Done<void> done) override;
  void Store(const DataPlace& place, DataWork work, OutputOwner owner,
             ItemData::Done<void> done) override;
  void Exist(DataWork work, ItemData::Done<bool> done) override;
  void Save(const DataPlace& place, CheckpointWork work, ItemData::Done<void> done) override;
  void DropSaves(const DataPlace& place, CheckpointWork work) override;
  void Forget(const DataPlace& place) override;
  void KeepOnly(Left left) override;
  std::int64_t held_bytes() const override;

  void Get(const std::string& project, std::vector<CacheUse> uses,
           JobCache::Done<Held> done) override;
  std::shared_ptr<const void> HoldEarlier() override { return std::move(earlier_); }

 private:
  struct Inner;
  // Calls on the other thread, with a `done` that comes back to this one.
  template <typename T, typename Call>
  void Do(ItemData::Done<T> done, Call call);

  AsioLoop& loop_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  // Until somebody asks for it.
  std::shared_ptr<const void> earlier_ = std::make_shared<char>();
  const std::unique_ptr<Inner> inner_;
};

}  // namespace tidemill
