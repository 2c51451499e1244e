// SPDX-License-Identifier: Apache-2.0
#include "agent/run_tag.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(RunTag, ComesBackAsItWent) {
  const RunTag tag{{{0x0123456789abcdef, 7}, 2047}, (std::uint64_t{3} << 32) + 9};
  EXPECT_EQ(FormatRunTag(tag), "01234567-89ab-cdef-0000-000000000007 2047 12884901897");
  EXPECT_EQ(ParseRunTag(FormatRunTag(tag)), tag);
}

TEST(RunTag, BelievesNothingElse) {
  const std::string lease = "01234567-89ab-cdef-0000-000000000007";
  for (const std::string& tag : std::vector<std::string>{
           "", lease, lease + " ", lease + " 1", lease + " 1 ", lease + " 2048 0", lease + " -1 0",
           lease + " 1x 0", lease + "  1 0", "x 1 0", " 1 0", lease + " 1 0 0", lease + " 1 -1"}) {
    EXPECT_FALSE(ParseRunTag(tag)) << tag;
  }
}

}  // namespace
}  // namespace tidemill
