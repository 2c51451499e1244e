// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "base/result.h"
#include "model/data.h"

namespace tidemill {

// Brings the inputs of items to this machine, and takes their outputs away. Loop thread only. Each
// `done` comes once, never from inside the call, and not after this is destroyed. Codes:
//   kInvalid      the item's own doing: a URL is wrong, or what it left is not what was promised
//   kNotFound     an input does not exist
//   kConflict     somebody else's object is where an output is to be
//   kForbidden, kNobody   this machine may not, or has no credentials
//   kExhausted    this machine's disk is full
//   kUnavailable, kUnknown   the store cannot be reached: try again
class ItemData {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  virtual ~ItemData() = default;
  // As the machine sees them. They are there from then on.
  virtual DataFolders FoldersOf(JobId job) = 0;
  // Afterwards the inputs are where PathOf says, there is room for the outputs, and the checkpoint
  // is as it was last saved, or empty.
  virtual void Fetch(const DataPlace& place, DataWork work, Done<void> done) = 0;
  // The outputs are stored, each whole or not at all; no container can change them any more. May be
  // called again after an error. Nothing may run that knows the place.
  virtual void Store(const DataPlace& place, DataWork work, OutputOwner owner, Done<void> done) = 0;
  // Whether all outputs are there, whoever stored them.
  virtual void Exist(DataWork work, Done<bool> done) = 0;
  // The attempt's checkpoint is stored as it is now; until then, what was stored before stays.
  // kConflict: it changed meanwhile, so nothing was stored. One at a time for a place.
  virtual void Save(const DataPlace& place, CheckpointWork work, Done<void> done) = 0;
  // Nobody will begin from what was saved by this attempt and by those before it.
  virtual void DropSaves(const DataPlace& place, CheckpointWork work) = 0;
  // Removes what is there of it; what is being fetched for it ends.
  virtual void Forget(const DataPlace& place) = 0;
  // What an earlier life may have left, and what of it is still in use.
  struct Left {
    std::uint64_t below = 0;     // its places had numbers below this one
    std::set<DataPlace> places;  // that are in use
    std::set<JobId> jobs;        // whose folders are, or will be
  };
  // Removes the rest.
  virtual void KeepOnly(Left left) = 0;
  // What inputs take of the disk, as of a moment ago.
  virtual std::int64_t held_bytes() const = 0;
};

}  // namespace tidemill
