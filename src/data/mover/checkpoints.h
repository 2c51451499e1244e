// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/item_data.h"
#include "data/mover/places.h"
#include "data/mover/remote_files.h"
#include "data/mover/save_name.h"
#include "wire/checkpoint_json.h"

namespace tidemill {

// The checkpoints of attempts, in an object store, below the URL of the item:
//
//   saves/ROUND-ATTEMPT-SEQ-WRITER.json    one save: it names all its files; whole or not there
//   files/WRITER/SEQ-N                     a file of some saves of that writer; never overwritten
//
// A writer deletes what is its own, and what was there when it began: so one that was given up and
// does not know it spoils nothing of a later one. Blocks for the disk. One thread at a time.
class Checkpoints {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  // What is saved at most: with 1 GB/s it takes a minute, and more is not saved when a machine has
  // its notice.
  static constexpr std::int64_t kBytesMost = 64'000'000'000;

  Checkpoints(std::string root, FindObject find);

  // The place was made. Afterwards its checkpoint is as the latest save before it; empty if there
  // is none, or if files of it are gone.
  void Restore(const DataPlace& place, const CheckpointWork& work, Done<void> done);
  // As those of ItemData; `done` may be called from inside.
  void Save(const DataPlace& place, const CheckpointWork& work, Done<void> done);
  void DropSaves(const DataPlace& place, const CheckpointWork& work);
  void Forget(const DataPlace& place) { kept_.erase(place); }

 private:
  // What tells whether a file has changed.
  struct Stamp {
    std::int64_t size_bytes = 0;
    std::int64_t changed_ns = 0;
    std::int64_t status_ns = 0;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Known {
    Stamp stamp = {};
    std::string object = {};  // empty: it is another writer's, which may delete it
  };
  // What is known of a place.
  struct Kept {
    std::set<std::string> writers = {};  // that were there before
    std::int64_t next_seq = 0;
    std::map<std::string, Known> files = {};  // as last saved, or put back
    std::string save = {};                    // the last one's name
  };
  struct Saving;

  void Look(const DataPlace& place, const CheckpointWork& work, Done<std::vector<SaveName>> done);
  void TryRestore(const DataPlace& place, const CheckpointWork& work, int tries, Done<void> done);
  void ReadSave(const CheckpointWork& work, const std::string& name,
                Done<std::vector<SavedFile>> done);
  void Bring(const DataPlace& place, const CheckpointWork& work, std::vector<SavedFile> files,
             Done<void> done);
  Result<void> Show(const DataPlace& place, const std::vector<SavedFile>& files);
  void SaveNow(const DataPlace& place, const CheckpointWork& work, Done<void> done);
  Result<bool> HasChanged(const Saving& saving) const;
  void SaveOne(const std::shared_ptr<Saving>& saving, std::size_t i, Done<void> done);
  void PutSave(const std::shared_ptr<Saving>& saving, Done<void> done);
  void OnPut(const std::shared_ptr<Saving>& saving);
  // As far as it can be done; the rest is left.
  void Delete(std::vector<std::string> urls);
  static Stamp StampOf(int fd);

  const DataPlaces places_;
  const FindObject find_;
  std::map<DataPlace, Kept> kept_;
};

}  // namespace tidemill
