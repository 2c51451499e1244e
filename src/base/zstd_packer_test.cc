// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_packer.h"

#include <gtest/gtest.h>
#include <zstd.h>

namespace tidemill {
namespace {

std::string Unpack(const std::string& frame, std::size_t most) {
  std::string out(most, '\0');
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  EXPECT_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

TEST(ZstdPackerTest, MakesOneFrameOfManyPieces) {
  std::string all, frame;
  ZstdPacker writer;
  for (int i = 0; i < 200'000; ++i) {
    const std::string piece = std::to_string(i * 7919) + "\n";
    all += piece;
    writer.Add(piece, frame);
  }
  writer.Finish(frame);
  EXPECT_LT(frame.size(), all.size());
  EXPECT_EQ(ZSTD_findFrameCompressedSize(frame.data(), frame.size()), frame.size());
  EXPECT_EQ(Unpack(frame, all.size()), all);
}

TEST(ZstdPackerTest, OfNothingMakesAFrameToo) {
  std::string frame;
  ZstdPacker writer;
  writer.Finish(frame);
  EXPECT_EQ(Unpack(frame, 10), "");
  EXPECT_FALSE(frame.empty());
}

}  // namespace
}  // namespace tidemill
