// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "data/item_data.h"
#include "data/mover/places.h"
#include "data/mover/remote_files.h"

namespace tidemill {

// Moves data between object stores and the folders of DataPlaces. It waits for the disk: it is made
// for a loop of its own, which nothing else is in a hurry on. One thread at a time.
class DataMover {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  DataMover(std::string root, FindObject find);

  // As those of ItemData; `done` may be called from inside.
  void Fetch(const DataPlace& place, DataWork work, Done<void> done);
  void Store(const DataPlace& place, DataWork work, OutputOwner owner, Done<void> done);
  void Exist(DataWork work, Done<bool> done);
  void Forget(const DataPlace& place);
  void KeepOnly(const ItemData::Left& left) { places_.KeepOnly(left); }
  // Any thread.
  std::int64_t held_bytes() const { return held_->load(); }

 private:
  struct Fetching;
  struct Storing;

  // Finds the objects of an input.
  void List(const std::shared_ptr<Fetching>& fetching, const DataInput& input, Done<void> done);
  void Download(const std::shared_ptr<Fetching>& fetching, const RemoteFile& file, Done<void> done);
  void StoreOutput(std::shared_ptr<Storing> storing, std::size_t output, Done<void> done);
  void PutPointer(std::shared_ptr<Storing> storing, const DataOutput& output, std::string text,
                  Done<void> done);

  const DataPlaces places_;
  const FindObject find_;
  const std::shared_ptr<std::atomic<std::int64_t>> held_;
  // What is fetched, or has been, and is not forgotten.
  std::map<DataPlace, std::shared_ptr<Fetching>> fetched_;
};

// The object that says which attempt of a folder counts, and what its files are.
inline constexpr std::string_view kPointerName = "_tidemill.json";

}  // namespace tidemill
