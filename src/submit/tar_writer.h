// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tidemill {

// The entries of a tar archive (ustar; pax where a name is long). The same files make the same
// bytes, whoever packs them and when: there are no times and no owners. Pure.
struct TarItem {
  enum class Kind { kFile, kFolder, kLink };
  Kind kind = Kind::kFile;
  std::string name = {};
  std::string target = {};  // of a link
  std::int64_t size_bytes = 0;
  bool executable = false;
};

// What stands before the bytes of an entry.
std::string TarHeader(const TarItem& item);
// What stands behind so many bytes.
std::string TarPadding(std::int64_t size_bytes);
// What ends an archive.
std::string TarEnd();

}  // namespace tidemill
