// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/log_piece.h"

namespace tidemill::cli {

struct LogPiece : LogPieceHead {
  std::string bytes;
};

// Reads what the agent of this machine has kept of a job's logs, in <state>/logs/<job number>. A
// piece that is not whole yet is read when it is. One thread.
class LogReader {
 public:
  explicit LogReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Gives the pieces of one item that have come since the last call, in the order they were
  // written. Other items' are skipped without being read. False: there is no folder.
  // kInternal: a pack cannot be read, or has bytes that no agent writes.
  Result<bool> ReadNew(std::int64_t item, const std::function<void(const LogPiece&)>& give);

 private:
  Result<void> ReadPack(const std::filesystem::path& path, std::uint64_t& offset, std::int64_t item,
                        const std::function<void(const LogPiece&)>& give);

  const std::filesystem::path folder_;
  std::map<std::string, std::uint64_t> offsets_;  // of each pack, where the next piece begins
};

}  // namespace tidemill::cli
