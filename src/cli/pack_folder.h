// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"

namespace tidemill::cli {

// What may be sent as code. A server holds it whole for a moment; what is larger belongs into the
// image, or into a store.
struct PackLimits {
  std::int64_t packed_bytes = limits::kPartBytes;
  std::int64_t bytes = std::int64_t{1} << 30;
  std::int64_t entries = 100'000;
};

struct PackedFolder {
  std::string bytes;  // a tar archive, packed by zstd: the same for the same files
  std::int64_t files = 0;
  std::int64_t file_bytes = 0;
  std::vector<std::string> left_out = {};  // by rule, the outermost of each; some of them
  std::int64_t left_out_count = 0;
};

// A folder's files, but for those that IgnoreRules leaves out. kInvalid: it is too large, with its
// largest files; or something in it cannot be packed. Blocks.
Result<PackedFolder> PackFolder(const std::string& folder, const PackLimits& limits = {});

// The same files as entries of a tar archive, not packed, with `below` before their names; what
// ends the archive is the caller's.
using TarWrite = std::function<Result<void>(std::string_view)>;
Result<void> TarFolder(const std::string& folder, const std::string& below,
                       const PackLimits& limits, TarWrite write);

}  // namespace tidemill::cli
