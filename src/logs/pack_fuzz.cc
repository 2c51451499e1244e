// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes of a pack are, reading ends, within limits, and what was read hangs together.
// sources: logs/pack_reader.cc logs/filter.cc base/bytes.cc base/check.cc base/result.cc
// libraries: zstd
#include <cstdlib>

#include "base/bytes.h"
#include "logs/pack.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckFrame(const LogFrame& frame) {
  std::size_t text = 0;
  for (const LogFrame::Group& group : frame.groups) {
    Require(group.text_at == text);
    text += frame.TextOf(group).size();
    Require(group.first_part + group.parts <= frame.parts.size());
  }
  Require(frame.text_at + text == frame.raw.size());
}

void Try(std::string_view all) {
  // As they are packed: the fuzzer cannot make zstd frames by itself.
  if (const auto frame = ReadLogFrame(Compress(all))) CheckFrame(*frame);
  if (const auto directory = ReadPackDirectory(Compress(all))) {
    for (const PackEntry& entry : *directory) Require(entry.who.item >= 0);
  }
  (void)ReadPackEnd(all);
  const auto length = static_cast<std::uint32_t>(all.size());
  if (const auto table = ReadPackTable({length, 0}, all, std::uint64_t{1} << 30)) {
    for (const PackFrame& frame : table->frames) Require(frame.first_item <= frame.last_item);
  }
  if (const auto table = ReadPackTable({length, 0}, all, length + kPackEndBytes)) {
    Require(table->directory_offset == 0);
  }
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  tidemill::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
