// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "unpack/names.h"

namespace tidemill {

// Archives, unpacked once each and found by the SHA-256 of what they were packed in. Loop thread
// only. What is unpacked survives a restart: a folder has its name only when it is whole.
class UnpackedFolders {
 public:
  struct Options {
    std::string root = {};  // a folder of our own; made if it is not there
    UnpackLimits limits = {};
    // Those that nobody has used for longest go first. What is in use stays, so for a while there
    // may be more.
    std::size_t kept = 32;
    std::int64_t kept_bytes = 20'000'000'000;
  };

  // While somebody holds it, it stays: its path.
  using Folder = std::shared_ptr<const std::string>;
  using Done = std::function<void(Result<Folder>)>;
  // Gets the archive whole.
  using Fetch = std::function<void(std::function<void(Result<std::string>)>)>;

  // Removes what a crash has left. Blocks, for as long as it takes to look at what is there.
  UnpackedFolders(Worker& worker, Options options);

  // `done` comes once, never from inside the call, and not after this is destroyed. `fetch` is
  // called if it is needed; those who ask for the same meanwhile wait for it. kInvalid: the archive
  // is not the one of this name, or cannot be unpacked; or what `fetch` says.
  void Get(const std::string& sha256, const Fetch& fetch, Done done);

 private:
  struct Kept {
    Folder path = {};
    std::int64_t bytes = 0;
    std::uint64_t used = 0;  // the larger, the later
  };
  void Scan();
  void Unpack(const std::string& sha256, std::string packed);
  void Settle(const std::string& sha256, const Result<std::int64_t>& bytes);
  void Evict();
  std::string PathOf(const std::string& name) const { return options_.root + "/" + name; }

  Worker& worker_;
  const Options options_;
  std::map<std::string, Kept> kept_;
  std::map<std::string, std::vector<Done>> under_way_;
  std::uint64_t clock_ = 0;
  std::uint64_t gone_ = 0;  // names of what is being removed
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
