// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "agent/deps.h"
#include "base/loop.h"
#include "objects/open.h"
#include "unpack/folders.h"

namespace tidemill {

// Code from the deployment's object store, unpacked once on this machine. Loop thread only.
class CodeFolders : public JobCode {
 public:
  // A server takes no more; what claims to be longer is not what was uploaded.
  static constexpr std::int64_t kPackedBytes = 64 << 20;
  // Ours is smaller than T12 allows for archives in general: it stays on the disk.
  static constexpr UnpackLimits kLimits{.bytes = 4'000'000'000, .entries = 200'000};

  // All outlive it. `folder` is its own.
  CodeFolders(ObjectStores& stores, Worker& worker, std::string folder);

  void Get(const std::string& url, const std::string& sha256,
           std::function<void(Result<Folder>)> done) override;

 private:
  ObjectStores& stores_;
  UnpackedFolders folders_;
};

}  // namespace tidemill
