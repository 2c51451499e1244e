// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/loop.h"
#include "data/item_data.h"

namespace tidemill {

// Where an output is below a folder of this machine: s3://bucket/a/b.png is FOLDER/bucket/a/b.png.
// A URL.
std::string HereUrl(std::string_view folder, std::string_view url);

// Moves data as another does, but that outputs go below a folder of this machine, whatever is
// there; so an item can be run again and again, and the fleet's outputs stay as they are. Loop
// thread only.
class OutputsHere : public ItemData {
 public:
  OutputsHere(Loop& loop, ItemData& data, std::string folder)
      : loop_(loop), data_(data), folder_(std::move(folder)) {}

  DataFolders FoldersOf(JobId job) override { return data_.FoldersOf(job); }
  void Fetch(const DataPlace& place, DataWork work, Done<void> done) override;
  void Store(const DataPlace& place, DataWork work, OutputOwner owner, Done<void> done) override;
  // Never: whoever runs one item wants to see it run.
  void Exist(DataWork work, Done<bool> done) override;
  void Save(const DataPlace& place, CheckpointWork work, Done<void> done) override {
    data_.Save(place, std::move(work), std::move(done));
  }
  void DropSaves(const DataPlace& place, CheckpointWork work) override {
    data_.DropSaves(place, std::move(work));
  }
  void Forget(const DataPlace& place) override { data_.Forget(place); }
  void KeepOnly(Left left) override { data_.KeepOnly(std::move(left)); }
  std::int64_t held_bytes() const override { return data_.held_bytes(); }

 private:
  DataWork Here(DataWork work) const;

  Loop& loop_;
  ItemData& data_;
  const std::string folder_;
};

}  // namespace tidemill
