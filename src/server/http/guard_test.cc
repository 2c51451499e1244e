// SPDX-License-Identifier: Apache-2.0
#include "server/http/guard.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

HttpRequest With(HttpFields headers) { return {.headers = std::move(headers)}; }

TEST(TokenOf, TakesTheFieldBeforeTheCookie) {
  const auto shown =
      TokenOf(With({{"Cookie", "tidemill=cookie"}, {"authorization", "Bearer field"}}));
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->secret, "field");
  EXPECT_FALSE(shown->by_cookie);
}

TEST(TokenOf, FindsItsCookieAmongOthers) {
  for (const char* cookies : {"tidemill=x", "a=b; tidemill=x", "a=b;tidemill=x; c=d"}) {
    const auto shown = TokenOf(With({{"Cookie", cookies}}));
    ASSERT_TRUE(shown) << cookies;
    EXPECT_EQ(shown->secret, "x");
    EXPECT_TRUE(shown->by_cookie);
  }
  for (const char* cookies : {"", "tidemil=x", "xtidemill=x", "a=tidemill=x", "tidemill"}) {
    EXPECT_FALSE(TokenOf(With({{"Cookie", cookies}}))) << cookies;
  }
}

TEST(TokenOf, TakesNoOtherScheme) {
  for (const char* field : {"Basic x", "bearer x", "Bearer", "x", ""}) {
    EXPECT_FALSE(TokenOf(With({{"Authorization", field}, {"Cookie", "tidemill=x"}}))) << field;
  }
}

TEST(IsFromOurPage, NeedsOurFieldAndNoForeignOrigin) {
  EXPECT_FALSE(IsFromOurPage(With({})));
  EXPECT_FALSE(IsFromOurPage(With({{"Origin", "https://a"}, {"Host", "a"}})));
  EXPECT_TRUE(IsFromOurPage(With({{"Tidemill-Request", "1"}})));
  EXPECT_TRUE(
      IsFromOurPage(With({{"Tidemill-Request", "1"}, {"Origin", "https://a:8"}, {"Host", "a:8"}})));
  EXPECT_FALSE(
      IsFromOurPage(With({{"Tidemill-Request", "1"}, {"Origin", "https://b"}, {"Host", "a"}})));
  EXPECT_FALSE(IsFromOurPage(With({{"Tidemill-Request", "1"}, {"Origin", "null"}})));
}

TEST(Suffices, HoldsTheTableOfRoles) {
  const std::vector<Needs> by_role = {Needs::kViewer, Needs::kSubmitter, Needs::kOperator,
                                      Needs::kAdmin};
  for (std::size_t has = 0; has < by_role.size(); ++has) {
    Caller caller;
    caller.project = "p";
    caller.role = static_cast<Role>(has);
    for (std::size_t needs = 0; needs < by_role.size(); ++needs) {
      EXPECT_EQ(Suffices(caller, by_role[needs]), has >= needs);
    }
    EXPECT_FALSE(Suffices(caller, Needs::kServer));
    EXPECT_FALSE(Suffices(caller, Needs::kServerAdmin));
    EXPECT_FALSE(Suffices(caller, Needs::kJoinToken));
    EXPECT_FALSE(Suffices(caller, Needs::kSessionToken));
    caller.project.clear();
    EXPECT_TRUE(Suffices(caller, Needs::kServer));
    EXPECT_EQ(Suffices(caller, Needs::kServerAdmin), caller.role == Role::kAdmin);
  }
}

}  // namespace
}  // namespace tidemill
