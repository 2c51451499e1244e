// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "data/item_data.h"
#include "model/data.h"

namespace tidemill {

// The folders of data on this machine:
//
//   ROOT/JOB/in/NUMBER/    inputs; only we write, and containers of the job read
//   ROOT/JOB/out/NUMBER/   outputs, as the item leaves them; anything may be in it
//   ROOT/JOB/done/NUMBER/  the same when the item has ended: no container sees it
//   ROOT/JOB/checkpoint/NUMBER/   what is saved of it; containers of the job write
//   ROOT/JOB/restore/NUMBER/      the same until it is put back whole: no container sees it
//
// Blocks. One thread at a time.
class DataPlaces {
 public:
  explicit DataPlaces(std::string root) : root_(std::move(root)) {}

  DataFolders FoldersOf(JobId job) const;
  // Makes them. kExhausted: the disk is full; kUnavailable: we may not write there.
  Result<DataFolders> MakeJob(JobId job) const;
  // Makes the place of an attempt, and of each of its data. What was there is removed.
  Result<void> Make(const DataPlace& place, const DataWork& work) const;
  // From now on no container sees its outputs: the folder where they are. OK if it was done before.
  Result<std::string> TakeOutputs(const DataPlace& place) const;
  // An empty folder that no container sees, for what is put back.
  Result<std::string> MakeRestore(const DataPlace& place) const;
  // From now on the items see what is in it. All may write to all of it.
  Result<void> ShowRestored(const DataPlace& place) const;
  std::string CheckpointOf(const DataPlace& place) const { return PathOf(place, "checkpoint"); }
  void Remove(const DataPlace& place) const;
  void KeepOnly(const ItemData::Left& left) const;

 private:
  std::string PathOf(const DataPlace& place, const char* what) const;

  const std::string root_;
};

// The path of a file below a folder, for an object of this name. kInvalid: a part of it is empty,
// "." or "..", or it cannot be a file's name.
Result<std::string> FilePathBelow(const std::string& folder, const std::string& name);

// kExhausted if there is no space; else kUnavailable.
tl::unexpected<Error> DiskError(const std::string& path, int error);

}  // namespace tidemill
