// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// A file of a checkpoint, as it was saved.
struct SavedFile {
  std::string name;    // below the checkpoint's folder
  std::string object;  // below the folder of the item's files
  std::int64_t size_bytes = 0;
  bool operator==(const SavedFile&) const = default;
};

// More are not saved: each is a request to the store, every time.
inline constexpr std::size_t kCheckpointFiles = 10'000;
// Names of all of them, at their longest, with what is around them.
inline constexpr std::size_t kSaveBytes = kCheckpointFiles * 2500;

// What says which files a checkpoint has:
//   {"files":[{"name":"model.pt","object":"12ab.7/000001-0","bytes":12}]}
std::string FormatSave(const std::vector<SavedFile>& files);
Result<std::vector<SavedFile>> ParseSave(std::string_view text);

}  // namespace tidemill
