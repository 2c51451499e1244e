// SPDX-License-Identifier: Apache-2.0
#include "model/token.h"

#include <set>

#include <gtest/gtest.h>

#include "model/access.h"

namespace tidemill {
namespace {

TEST(Token, IsAPrefixAnd256RandomBits) {
  SystemRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string token = MakeToken(kApiPrefix, random);
    EXPECT_EQ(token.size(), kApiPrefix.size() + 64);
    EXPECT_TRUE(IsToken(kApiPrefix, token)) << token;
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST(Token, OfOneKindIsNotOfAnother) {
  SeededRandom random(1);
  const std::string join = MakeToken(kJoinPrefix, random);
  for (const std::string_view other : {kApiPrefix, kSessionPrefix, kBrowserPrefix}) {
    EXPECT_FALSE(IsToken(other, join));
  }
  EXPECT_FALSE(IsToken(kJoinPrefix, join + "0"));
  EXPECT_FALSE(IsToken(kJoinPrefix, join.substr(1)));
  EXPECT_FALSE(IsToken(kJoinPrefix, ""));
  EXPECT_FALSE(IsToken(kJoinPrefix, std::string(kJoinPrefix) + std::string(64, 'G')));
}

TEST(Role, HasANameAndBack) {
  for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kOperator, Role::kAdmin}) {
    EXPECT_EQ(ParseRole(RoleName(role)), role);
  }
  EXPECT_FALSE(ParseRole("root"));
  EXPECT_FALSE(ParseRole(""));
}

}  // namespace
}  // namespace tidemill
