// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "store/store_testing.h"

// Projects, pools, tokens, secrets, audit.
namespace tidemill {

inline NewToken ApiToken(TokenId id, const std::string& secret, const std::string& project,
                         Role role = Role::kSubmitter) {
  NewToken token;
  token.id = id;
  token.secret = secret;
  token.name = "somebody";
  token.project = project;
  token.role = role;
  token.made_by = "admin";
  token.life = std::chrono::hours(24);
  return token;
}

inline NewToken JoinToken(TokenId id, const std::string& secret, const std::string& pool) {
  NewToken token = ApiToken(id, secret, "default");
  token.kind = TokenKind::kJoin;
  token.pool = pool;
  return token;
}

TEST_P(StoreTest, TheDefaultProjectAndPoolAreThere) {
  EXPECT_EQ(Must(access().FindProject("default")).limits, ProjectLimits{});
  EXPECT_EQ(Must(access().FindPool("default", "default")).policy, ContainerPolicy{});
  EXPECT_EQ(CodeOfFailed(access().FindProject("none")), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(access().FindPool("default", "none")), Code::kNotFound);
}

TEST_P(StoreTest, ProjectsHaveLimitsAndPoolsPolicies) {
  const ProjectLimits limits{.calls_per_second = 5, .items = 10, .log_bytes = 99};
  Must(access().PutProject("vision", {}));
  EXPECT_EQ(Must(access().PutProject("vision", limits)).limits, limits);
  EXPECT_EQ(Must(access().FindProject("vision")).limits, limits);
  Must(access().PutProject("Audio", {}));
  const std::vector<Project> all = Must(access().ListProjects("", 10));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "Audio");
  EXPECT_EQ(Must(access().ListProjects("Audio", 1)).at(0).name, "default");
  const Volumes volumes = {{"models", {.host = "/srv/models", .readonly = true}},
                           {"shared", {.nfs = "10.0.0.5:/e", .options = "hard"}}};
  const Pool pool{"vision", "strict", {.no_network = true, .firewall = true, .volumes = volumes}};
  Must(access().PutPool(pool));
  EXPECT_EQ(Must(access().FindPool("vision", "strict")), pool);
  EXPECT_EQ(CodeOfFailed(access().FindPool("default", "strict")), Code::kNotFound);
  ASSERT_EQ(Must(access().ListPools("vision", "", 10)).size(), 2u);
  EXPECT_EQ(Must(access().ListPools("vision", "default", 10)).at(0), pool);
  EXPECT_EQ(CodeOfFailed(access().PutPool({"none", "x", {}})), Code::kNotFound);
}

TEST_P(StoreTest, AProjectHasTheCloudRolesThatItWasGivenLast) {
  EXPECT_TRUE(Must(access().FindProject("default")).cloud_roles.empty());
  const std::vector<std::string> roles = {"arn:aws:iam::123456789012:role/a",
                                          "arn:aws:iam::123456789012:role/b*"};
  EXPECT_EQ(Must(access().SetCloudRoles("default", roles)).cloud_roles, roles);
  Must(access().PutProject("default", {}));
  EXPECT_EQ(Must(access().FindProject("default")).cloud_roles, roles);
  EXPECT_EQ(Must(access().ListProjects("", 10)).at(0).cloud_roles, roles);
  Must(access().SetCloudRoles("default", {}));
  EXPECT_TRUE(Must(access().FindProject("default")).cloud_roles.empty());
  EXPECT_EQ(CodeOfFailed(access().SetCloudRoles("none", roles)), Code::kNotFound);
}

TEST_P(StoreTest, ATokenIsItsCaller) {
  Must(access().PutProject("vision", {.calls_per_second = 7}));
  const NewToken token = ApiToken({1, 1}, "secret", "vision", Role::kOperator);
  const Token made = Must(access().CreateToken(token));
  EXPECT_EQ(Must(access().CreateToken(token)), made);
  EXPECT_GT(made.expires_ms, made.created_ms);
  EXPECT_EQ(made.used_ms, 0);
  const Caller caller = Must(access().FindCaller("secret"));
  EXPECT_EQ(caller.token, made.id);
  EXPECT_EQ(caller.name, "somebody");
  EXPECT_EQ(caller.project, "vision");
  EXPECT_EQ(caller.role, Role::kOperator);
  EXPECT_EQ(caller.limits.calls_per_second, 7);
  EXPECT_EQ(CodeOfFailed(access().FindCaller("Secret")), Code::kNobody);
  EXPECT_EQ(CodeOfFailed(access().FindCaller("")), Code::kNobody);
  EXPECT_GT(Must(access().ListTokens({})).at(0).used_ms, 0);
  EXPECT_EQ(CodeOfFailed(access().CreateToken(ApiToken({2, 2}, "x", "none"))), Code::kNotFound);
}

TEST_P(StoreTest, ARevokedTokenIsNobodysAtOnceAndSoIsItsCookie) {
  Must(access().CreateToken(ApiToken({1, 1}, "secret", "default")));
  const std::string cookie = "tidemill_web_1";
  Must(access().OpenBrowser({1, 1}, cookie, std::chrono::hours(12)));
  EXPECT_EQ(Must(access().FindCaller(cookie)).token, (TokenId{1, 1}));
  EXPECT_EQ(CodeOfFailed(access().RevokeToken("another", {1, 1})), Code::kNotFound);
  Must(access().FindCaller("secret"));
  EXPECT_GT(Must(access().RevokeToken("default", {1, 1})).revoked_ms, 0);
  EXPECT_EQ(CodeOfFailed(access().FindCaller("secret")), Code::kNobody);
  EXPECT_EQ(CodeOfFailed(access().FindCaller(cookie)), Code::kNobody);
  EXPECT_EQ(CodeOfFailed(access().RevokeToken("", {7, 7})), Code::kNotFound);
}

TEST_P(StoreTest, TokensAndCookiesExpire) {
  Must(access().CreateToken(ApiToken({1, 1}, "secret", "")));
  Must(access().OpenBrowser({1, 1}, "tidemill_web_1", std::chrono::hours(12)));
  Must(access().OpenBrowser({1, 1}, "tidemill_web_2", std::chrono::hours(1)));
  Must(access().CloseBrowser("tidemill_web_1"));
  EXPECT_EQ(CodeOfFailed(access().FindCaller("tidemill_web_1")), Code::kNobody);
  Age(std::chrono::hours(2));
  EXPECT_EQ(CodeOfFailed(access().FindCaller("tidemill_web_2")), Code::kNobody);
  EXPECT_EQ(Must(access().DropOldAccess(kLong)), 1);
  EXPECT_EQ(Must(access().FindCaller("secret")).project, "");
  Age(std::chrono::hours(23));
  EXPECT_EQ(CodeOfFailed(access().FindCaller("secret")), Code::kNobody);
}

TEST_P(StoreTest, TokensAreListedByProjectAndPage) {
  Must(access().PutProject("vision", {}));
  Must(access().CreateToken(ApiToken({1, 1}, "a", "vision")));
  Must(access().CreateToken(ApiToken({2, 2}, "b", "")));
  Must(access().CreateToken(ApiToken({3, 3}, "c", "vision")));
  EXPECT_EQ(Must(access().ListTokens({})).size(), 3u);
  ASSERT_EQ(Must(access().ListTokens({.project = "vision"})).size(), 2u);
  EXPECT_EQ(Must(access().ListTokens({.project = "vision", .after = {1, 1}})).at(0).id,
            (TokenId{3, 3}));
  EXPECT_EQ(Must(access().ListTokens({.limit = 1})).size(), 1u);
}

TEST_P(StoreTest, AJoinTokenLeadsToItsPoolAndIsNobodysOtherwise) {
  Must(access().PutPool({"default", "gpu", {.no_capabilities = true}}));
  Must(access().CreateToken(JoinToken({1, 1}, "join", "gpu")));
  const JoinPlace place = Must(access().UseJoinToken("join", {5, 5}));
  EXPECT_EQ(place.pool.name, "gpu");
  EXPECT_EQ(place.pool.project, "default");
  EXPECT_TRUE(place.pool.policy.no_capabilities);
  EXPECT_EQ(CodeOfFailed(access().FindCaller("join")), Code::kNobody);
  EXPECT_EQ(CodeOfFailed(access().UseJoinToken("other", {5, 5})), Code::kNobody);
  Must(access().CreateToken(ApiToken({2, 2}, "person", "default", Role::kAdmin)));
  EXPECT_EQ(CodeOfFailed(access().UseJoinToken("person", {5, 5})), Code::kNobody);
  Must(access().RevokeToken("", {1, 1}));
  EXPECT_EQ(CodeOfFailed(access().UseJoinToken("join", {5, 5})), Code::kNobody);
  EXPECT_EQ(CodeOfFailed(access().CreateToken(JoinToken({3, 3}, "x", "none"))), Code::kNotFound);
}

TEST_P(StoreTest, AJoinTokenIsUsedUpBySessionsNotByCalls) {
  NewToken token = JoinToken({1, 1}, "join", "default");
  token.uses = 2;
  EXPECT_EQ(Must(access().CreateToken(token)).uses_left, 2);
  Must(access().UseJoinToken("join", {5, 5}));
  EXPECT_EQ(Must(access().UseJoinToken("join", {5, 5})).token.uses_left, 1);
  Must(access().UseJoinToken("join", {6, 6}));
  EXPECT_EQ(CodeOfFailed(access().UseJoinToken("join", {7, 7})), Code::kNobody);
  EXPECT_EQ(Must(access().UseJoinToken("join", {6, 6})).token.uses_left, 0);
  Age(std::chrono::hours(25));
  EXPECT_EQ(CodeOfFailed(access().UseJoinToken("join", {6, 6})), Code::kNobody);
}

TEST_P(StoreTest, SecretsBelongToAProject) {
  Must(access().PutProject("vision", {}));
  Must(access().PutSecret("vision", "b", std::string("sealed\0b", 8), "me"));
  Must(access().PutSecret("vision", "B", "sealed B", "me"));
  Must(access().PutSecret("default", "b", "another", "you"));
  const std::vector<SecretInfo> list = Must(access().ListSecrets("vision"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "B");
  EXPECT_EQ(list[1].updated_by, "me");
  const auto found = Must(access().FindSecrets("vision", {"b", "none"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("b"), std::string("sealed\0b", 8));
  Must(access().PutSecret("vision", "b", "new", "you"));
  EXPECT_EQ(Must(access().FindSecrets("vision", {"b"})).at("b"), "new");
  EXPECT_EQ(CodeOfFailed(access().DropSecret("default", "B")), Code::kNotFound);
  Must(access().DropSecret("vision", "b"));
  EXPECT_TRUE(Must(access().FindSecrets("vision", {"b"})).empty());
  EXPECT_EQ(Must(access().FindSecrets("default", {"b"})).at("b"), "another");
  EXPECT_EQ(CodeOfFailed(access().PutSecret("none", "b", "x", "me")), Code::kNotFound);
}

TEST_P(StoreTest, TheAuditIsListedNewestFirst) {
  for (const std::string project : {"p", "q", "p"}) {
    Must(access().Record({.project = project,
                          .who = "me",
                          .token = "1",
                          .address = "10.0.0.1",
                          .action = "POST /v1/jobs",
                          .target = "",
                          .allowed = project == "p"}));
  }
  const std::vector<AuditRow> rows = Must(access().ListAudit({}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_GT(rows[0].id, rows[1].id);
  EXPECT_GT(rows[0].at_ms, 0);
  EXPECT_EQ(rows[1].project, "q");
  EXPECT_FALSE(rows[1].allowed);
  const std::vector<AuditRow> of_p =
      Must(access().ListAudit({.project = "p", .before = rows[0].id, .limit = 5}));
  ASSERT_EQ(of_p.size(), 1u);
  EXPECT_EQ(of_p[0], rows[2]);
}

TEST_P(StoreTest, AProjectHasNoMoreItemsUnderWayThanItsLimit) {
  Must(access().PutProject("p", {.items = 20}));
  const JobId first = Draft({.chunks = {8, 8}});
  const JobId second = Must(store().CreateJob(JobOf("second"))).id;
  EXPECT_EQ(CodeOfFailed(store().AddPart(second, PartOf(0, {8}))), Code::kExhausted);
  Must(store().AddPart(second, PartOf(0, {4})));
  // What is stored already may be said again.
  Must(store().AddPart(first, PartOf(0, {8, 8})));
  Must(store().CancelJob(first));
  Sweep(first);
  Must(store().AddPart(second, PartOf(1, {16})));
}

}  // namespace tidemill
