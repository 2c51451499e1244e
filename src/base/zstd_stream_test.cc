// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_stream.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace tidemill {
namespace {

ByteRead From(std::string text, std::size_t step) {
  return [text = std::move(text), at = std::size_t{0}, step](
             char* to, std::size_t size) mutable -> Result<std::size_t> {
    const std::size_t some = std::min({size, step, text.size() - at});
    std::memcpy(to, text.data() + at, some);
    at += some;
    return some;
  };
}

Result<std::string> All(ZstdReader reader, std::size_t step) {
  std::string text;
  std::string place(step, '\0');
  while (true) {
    TIDEMILL_TRY(const std::size_t got, reader.Read(place.data(), place.size()));
    if (got == 0) return text;
    text.append(place, 0, got);
  }
}

std::string Packed(const std::string& text) {
  std::string out;
  ZstdWriter writer([&out](std::string_view piece) -> Result<void> {
    out += piece;
    return {};
  });
  for (std::size_t at = 0; at < text.size(); at += 1000) {
    EXPECT_TRUE(writer.Add(std::string_view(text).substr(at, 1000)));
  }
  EXPECT_TRUE(writer.End());
  return out;
}

TEST(ZstdStream, ReadsBackWhatWasWritten) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += std::to_string(i * 7919 % 10'007);
  const std::string packed = Packed(text);
  EXPECT_LT(packed.size(), text.size() / 2);
  EXPECT_EQ(packed, Packed(text));
  for (const std::size_t step : {1, 100, 1 << 20}) {
    EXPECT_EQ(All(ZstdReader(From(packed, step)), 1 << 20).value(), text);
    EXPECT_EQ(All(ZstdReader(From(packed, 1 << 20)), step).value(), text);
  }
  // Frames one behind the other, as `cat` makes them; and none.
  EXPECT_EQ(All(ZstdReader(From(Compress("ab") + Compress("") + Compress("cd"), 3)), 1).value(),
            "abcd");
  EXPECT_EQ(All(ZstdReader(From("", 3)), 1).value(), "");
  EXPECT_EQ(All(ZstdReader(From(Packed(""), 3)), 1).value(), "");
}

TEST(ZstdStream, KnowsWhatIsCutOrIsNone) {
  const std::string packed = Packed(std::string(100'000, 'x'));
  for (const std::size_t size : {std::size_t{1}, std::size_t{5}, packed.size() - 1}) {
    EXPECT_FALSE(All(ZstdReader(From(packed.substr(0, size), 100)), 100)) << size;
  }
  EXPECT_FALSE(All(ZstdReader(From("not packed at all", 100)), 100));
}

}  // namespace
}  // namespace tidemill
