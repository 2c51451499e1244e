// SPDX-License-Identifier: Apache-2.0
#include "wire/registry_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(RegistryJson, ATokenHasTwoNames) {
  EXPECT_EQ(ParseRegistryToken(R"({"token":"abc","expires_in":300})").value(), "abc");
  EXPECT_EQ(ParseRegistryToken(R"({"access_token":"abc"})").value(), "abc");
  EXPECT_EQ(ParseRegistryToken(R"({"access_token":"no","token":"abc"})").value(), "abc");
}

TEST(RegistryJson, WhatCannotStandInAHeaderIsNoToken) {
  for (const char* body :
       {"", "{}", "[]", "null", R"({"token":""})", R"({"token":null})", R"({"token":7})",
        R"({"token":"a\r\nHost: b"})", R"({"token":"a b"})", R"({"token":"\u00fc"})"}) {
    EXPECT_FALSE(ParseRegistryToken(body)) << body;
  }
  EXPECT_FALSE(ParseRegistryToken("{\"token\":\"" + std::string(17 << 10, 'a') + "\"}"));
}

}  // namespace
}  // namespace tidemill
