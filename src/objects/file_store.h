// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/loop.h"
#include "objects/object_store.h"

namespace tidemill {

// Objects as files below a folder, such as one that all machines share. A key that no file can have
// (with an empty part, "." or "..") is kInvalid. Marks are extended attributes. See ObjectStore.
class FileStore : public ObjectStore {
 public:
  // The worker outlives the store.
  FileStore(Loop& loop, Worker& worker, std::string folder);
  ~FileStore() override;

  void Head(const std::string& key, Done<ObjectInfo> done) override;
  void Get(const std::string& key, ObjectRange range, OnPiece on_piece,
           Done<ObjectInfo> done) override;
  void Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) override;
  void List(ListOptions options, Done<ListPage> done) override;
  void Delete(const std::string& key, Done<void> done) override;

 private:
  struct Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace tidemill
