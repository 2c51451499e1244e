// SPDX-License-Identifier: Apache-2.0
#include "server/http/listen.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Listen, AddressesAreNumericAndLoopbackIsKnown) {
  EXPECT_EQ(*ParseListen("127.0.0.1:8080"), (Listen{"127.0.0.1", 8080, true}));
  EXPECT_EQ(*ParseListen("localhost:0"), (Listen{"127.0.0.1", 0, true}));
  EXPECT_EQ(*ParseListen("[::1]:80"), (Listen{"::1", 80, true}));
  EXPECT_EQ(*ParseListen("0.0.0.0:80"), (Listen{"0.0.0.0", 80, false}));
  EXPECT_EQ(*ParseListen("[::]:80"), (Listen{"::", 80, false}));
  EXPECT_EQ(*ParseListen("10.0.0.7:80"), (Listen{"10.0.0.7", 80, false}));
  for (const char* text :
       {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80",
        "[::1]", "example.org:80", "127.1:80", "[127.0.0.1]:80"}) {
    EXPECT_FALSE(ParseListen(text)) << text;
  }
}

}  // namespace
}  // namespace tidemill
