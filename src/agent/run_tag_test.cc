// SPDX-License-Identifier: Apache-2.0
#include "agent/run_tag.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(RunTag, ComesBackAsItWent) {
  const ItemKey key{{0x0123456789abcdef, 7}, 2047};
  EXPECT_EQ(FormatRunTag(key), "01234567-89ab-cdef-0000-000000000007 2047");
  EXPECT_EQ(ParseRunTag(FormatRunTag(key)), key);
}

TEST(RunTag, BelievesNothingElse) {
  const std::string lease = "01234567-89ab-cdef-0000-000000000007";
  for (const std::string& tag :
       std::vector<std::string>{"", lease, lease + " ", lease + " 2048", lease + " -1",
                                lease + " 1x", lease + "  1", "x 1", " 1"}) {
    EXPECT_FALSE(ParseRunTag(tag)) << tag;
  }
}

}  // namespace
}  // namespace tidemill
