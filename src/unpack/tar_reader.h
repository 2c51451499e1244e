// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/zstd_stream.h"

namespace tidemill {

// What stands in an archive before a file's bytes, as the archive has it: nothing is believed yet.
struct TarEntry {
  enum class Kind { kFile, kFolder, kLink, kHardLink };
  Kind kind = Kind::kFile;
  std::string name = {};
  std::string target = {};  // of links
  std::int64_t size_bytes = 0;
  bool executable = false;
};

// Reads a tar archive (ustar, pax, and GNU's long names) entry by entry. What is not a file, a
// folder or a link is an error, and so is a sparse file: nothing that packs code makes them. Owners
// and times are passed over. One thread.
class TarReader {
 public:
  // Names and pax records take no more.
  static constexpr std::int64_t kExtraBytes = 64 << 10;

  explicit TarReader(ByteRead from) : from_(std::move(from)) {}

  // The next entry; what is left of the bytes of the one before is passed over. Absent at the end.
  // kInvalid: this is no archive, or it ends too early.
  Result<std::optional<TarEntry>> Next();
  // Up to so many bytes of the entry; none at its end.
  Result<std::size_t> Read(char* to, std::size_t size);

 private:
  struct Extra {
    std::string name = {};
    std::string target = {};
    std::optional<std::int64_t> size = {};
  };
  Result<bool> ReadBlock(char* block);
  Result<void> Fill(char* to, std::size_t size);
  Result<std::string> ReadExtra(std::int64_t size);
  static Result<void> ReadPax(std::string_view records, Extra& extra);
  static Result<TarEntry> EntryOf(std::string_view block, const Extra& extra);

  const ByteRead from_;
  std::int64_t left_ = 0;     // bytes of the entry
  std::int64_t padding_ = 0;  // behind them
};

}  // namespace tidemill
