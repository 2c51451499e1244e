// SPDX-License-Identifier: Apache-2.0
#include "wire/access_json.h"

#include <string>

#include <gtest/gtest.h>

#include "wire/secret_json.h"

namespace tidemill {
namespace {

TEST(AccessJson, ATokenAsItIsAskedFor) {
  const auto api = ParseNewToken(R"({"name":"ann","role":"operator"})");
  ASSERT_TRUE(api) << api.error().reason;
  EXPECT_EQ(api->role, Role::kOperator);
  EXPECT_EQ(api->life, std::chrono::hours(24 * 90));
  const auto join = ParseNewToken(
      R"({"kind":"join","name":"fleet","pool":"gpu","uses":3,"life_seconds":60,"project":"p"})");
  ASSERT_TRUE(join) << join.error().reason;
  EXPECT_EQ(join->kind, TokenKind::kJoin);
  EXPECT_EQ(join->uses, 3);
  EXPECT_EQ(join->life, std::chrono::seconds(60));
  for (const NewToken* token : {&*api, &*join}) {
    const auto again = ParseNewToken(FormatNewToken(*token));
    ASSERT_TRUE(again);
    EXPECT_EQ(FormatNewToken(*again), FormatNewToken(*token));
  }
}

TEST(AccessJson, WrongTokensAreNotMade) {
  for (const char* bad : {
           R"({})",
           R"({"name":"a"})",
           R"({"name":"a","role":"root"})",
           R"({"name":"","role":"admin"})",
           R"({"name":"a","role":"admin","pool":"x"})",
           R"({"name":"a","role":"admin","uses":1})",
           R"({"kind":"join","name":"a"})",
           R"({"kind":"join","name":"a","pool":"x","role":"admin"})",
           R"({"kind":"join","name":"a","pool":"a b"})",
           R"({"kind":"join","name":"a","pool":"x","uses":0})",
           R"({"kind":"other","name":"a","role":"admin"})",
           R"({"name":"a","role":"admin","life_seconds":0})",
           R"({"name":"a","role":"admin","project":"a/b"})",
           R"({"name":"a","role":"admin","secret":"mine"})",
       }) {
    EXPECT_FALSE(ParseNewToken(bad)) << bad;
  }
}

TEST(AccessJson, WhatIsKnownOfATokenAndBack) {
  Token token;
  token.id = {1, 2};
  token.kind = TokenKind::kJoin;
  token.name = "fleet";
  token.project = "p";
  token.pool = "gpu";
  token.uses_left = 0;
  token.made_by = "ann";
  token.created_ms = 5;
  token.expires_ms = 6;
  token.revoked_ms = 7;
  Token person = token;
  person.kind = TokenKind::kApi;
  person.pool.clear();
  person.uses_left.reset();
  person.role = Role::kAdmin;
  person.project.clear();
  const auto page = ParseTokens(FormatTokens({token, person}, true));
  ASSERT_TRUE(page) << page.error().reason;
  EXPECT_EQ(page->rows, (std::vector<Token>{token, person}));
  EXPECT_EQ(page->next, ToString(person.id));
  const auto made = ParseMadeToken(FormatMadeToken({token, "secret"}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->token, token);
  EXPECT_EQ(made->secret, "secret");
}

TEST(AccessJson, ProjectsPoolsAuditAndSecretsAndBack) {
  const Project project{"p", {.calls_per_second = 3, .items = 4, .log_bytes = 5}, 6};
  EXPECT_EQ(ParseProjects(FormatProjects({project}, false))->rows, std::vector<Project>{project});
  EXPECT_EQ(*ParseProjectLimits(FormatProjectLimits(project.limits)), project.limits);
  const Pool pool{"", "x", {.read_only_root = true, .user_namespace = true}};
  EXPECT_EQ(*ParsePoolPolicy(FormatPoolPolicy(pool.policy)), pool.policy);
  EXPECT_FALSE(ParsePoolPolicy(R"({"policy":{"no_caps":true}})"));
  ContainerPolicy lends;
  lends.volumes = {{"models", {.host = "/srv/models", .readonly = true}},
                   {"scratch", {.nfs = "10.0.0.5:/export", .options = "nfsvers=4.1"}}};
  EXPECT_EQ(*ParsePoolPolicy(FormatPoolPolicy(lends)), lends);
  const AuditRow row{1, 2, "p", "ann", "t", "10.0.0.1", "POST /v1/jobs", "render-7", false};
  EXPECT_EQ(ParseAudit(FormatAudit({row}, true))->rows, std::vector<AuditRow>{row});
  EXPECT_EQ(ParseAudit(FormatAudit({row}, true))->next, "1");
  const SecretInfo secret{"s", 3, "ann"};
  EXPECT_EQ(*ParseSecrets(FormatSecrets({secret})), std::vector<SecretInfo>{secret});
  const std::string value("\0\xff\n", 3);
  EXPECT_EQ(*ParseSecretValue(FormatSecretValue(value)), value);
  EXPECT_FALSE(ParseSecretValue(R"({"value":""})"));
  const std::map<std::string, std::string> values = {{"a", value}, {"b", "x"}};
  EXPECT_EQ(*ParseSecretValues(FormatSecretValues(values)), values);
}

}  // namespace
}  // namespace tidemill
