// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "data/job_cache.h"
#include "data/mover/remote_files.h"

namespace tidemill {

// JobCache on the disk of a machine:
//
//   ROOT/PROJECT/KEY/data    a file, or a folder; PROJECT and KEY are hashes
//   ROOT/views/HASH/NAME     a link to one of them: for engines without mounts
//
// A KEY is of the URL and of what the store said to be there: what changes has another. It has its
// name only when it is whole. One thread at a time; the views that it gives away may be dropped on
// any.
class DataCache {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  struct Options {
    std::string root = {};
    // All together; 0: half of what is free of the disk, and of what is here already. What is in
    // use stays, even if an earlier life had more.
    std::int64_t budget_bytes = 0;
    // While somebody holds it, what is here from an earlier life counts as in use.
    std::weak_ptr<const void> earlier = {};
  };
  // The worker outlives it.
  DataCache(Worker& worker, FindObject find, Options options);

  // Finds what is here, and removes what a crash has left. To be called first.
  void Scan();
  // As JobCache has it; `done` may be called from inside.
  void Get(const std::string& project, const std::vector<CacheUse>& uses,
           Done<JobCache::Held> done);

 private:
  using Path = std::shared_ptr<const std::string>;
  struct Entry {
    Path path = {};  // of its data
    std::int64_t bytes = 0;
    std::uint64_t used = 0;
    bool earlier = false;
  };
  // What is being fetched.
  struct Asked {
    std::string project;  // its folder
    std::string url;
    std::vector<RemoteFile> files = {};
    std::string key = {};    // "PROJECT/KEY"
    std::int64_t bytes = 0;  // that are reserved for it
    std::vector<Done<Path>> waiting = {};
  };
  using Asking = std::shared_ptr<Asked>;

  void GetOne(const std::string& project, const std::string& url, Done<Path> done);
  // What the store has of it now.
  void Look(const Asking& asked, Done<std::vector<RemoteFile>> done);
  void OnLooked(const Asking& asked, Result<std::vector<RemoteFile>> files);
  void Fetch(const Asking& asked);
  // Whether it is still what was looked at before it was fetched.
  void LookAgain(const Asking& asked);
  void Keep(const Asking& asked);
  void Settle(const Asking& asked, const Result<Path>& path);
  Result<void> MakeRoom(const std::string& url, std::int64_t bytes);
  void Remove(const std::string& key);
  Result<JobCache::Held> ViewOf(const std::vector<CacheUse>& uses, std::vector<Path> paths) const;
  std::string FolderOf(const std::string& key) const { return options_.root + "/" + key; }

  Worker& worker_;
  const FindObject find_;
  const Options options_;
  std::map<std::string, Entry> entries_;     // by "PROJECT/KEY"
  std::map<std::string, Asking> under_way_;  // by project and URL
  std::int64_t budget_ = 0;
  std::int64_t reserved_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t gone_ = 0;  // names of what is being removed
};

}  // namespace tidemill
