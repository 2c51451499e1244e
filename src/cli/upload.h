// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/stores.h"

// Files of this machine that items name, stored where the machines find them. One thread.
namespace tidemill::cli {

struct UploadState {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::int64_t were_there = 0;  // of the files
};

// Stores files as URL/SHA256/NAME, and folders as URL/SHA256/NAME/..., so that what is there
// already is not sent again, whoever sent it, and an item keeps its name.
class Uploader {
 public:
  // Of one folder: more are better packed first.
  static constexpr std::size_t kFilesMost = 100'000;

  // `stores` outlives it; `progress` is called after each file.
  Uploader(Stores& stores, std::string url, std::function<void(const UploadState&)> progress);

  // The URLs of the copies, in the order of the paths. kNotFound, kInvalid, with the path: it is no
  // file and no folder, cannot be read, or changed while it was sent. Or what the store says.
  Result<std::vector<std::string>> Store(const std::vector<std::string>& paths);
  const UploadState& state() const { return state_; }

 private:
  struct File {
    std::string path;
    std::string key;
    std::string sha256;  // in hex
    std::int64_t size_bytes = 0;
    std::int64_t changed_ns = 0;
  };
  // What becomes of one path.
  struct Copy {
    std::string url;
    std::vector<File> files;
  };
  using Done = std::function<void(Result<void>)>;

  Result<Copy> CopyOf(const std::string& path) const;
  Result<Copy> CopyOfFolder(const std::string& path, const std::string& name) const;
  Result<void> Send(const std::vector<File>& files);
  void SendOne(const File& file, const Done& done);
  void Put(const File& file, const Done& done);

  Stores& stores_;
  const std::string url_;  // with a slash at its end
  const std::function<void(const UploadState&)> progress_;
  UploadState state_;
};

}  // namespace tidemill::cli
