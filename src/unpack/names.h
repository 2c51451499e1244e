// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "unpack/tar_reader.h"

namespace tidemill {

// What an archive may hold; security.md, T12.
struct UnpackLimits {
  std::int64_t bytes = 10'000'000'000;
  std::size_t entries = 1'000'000;
  std::size_t depth = 32;
  // What is unpacked may be so many times what was packed, beyond `ratio_from` bytes: runs of zeros
  // in a small file are honest, a gigabyte of them is not.
  std::int64_t ratio = 200;
  std::int64_t ratio_from = 64 << 20;
};

// Which names of an archive have been taken, and whether the next one may be. After an entry was
// let in, its name has no part that leads elsewhere, everything above it is a folder of this
// archive and not a link, and nothing has its name. Pure.
class UnpackNames {
 public:
  explicit UnpackNames(const UnpackLimits& limits) : limits_(limits) {}

  struct Place {
    std::string name = {};  // without a slash at either end; empty: it is there already
    std::vector<std::string> folders = {};  // those above it that are not there yet, in order
    std::string target = {};                // of links; of hard ones as `name` is
  };
  // kInvalid: what is wrong with it.
  Result<Place> Take(const TarEntry& entry);

 private:
  Result<std::string> NameOf(std::string_view text) const;
  Result<void> CheckLink(const std::string& name, std::string_view target) const;
  struct Taken {
    TarEntry::Kind kind = TarEntry::Kind::kFolder;
    bool implied = false;  // a folder that so far only stands in other names
  };
  Result<void> Add(const std::string& name, Taken taken);

  const UnpackLimits limits_;
  std::map<std::string, Taken, std::less<>> taken_;
};

}  // namespace tidemill
