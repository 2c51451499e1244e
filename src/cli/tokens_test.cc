// SPDX-License-Identifier: Apache-2.0
#include "cli/tokens.h"

#include <gtest/gtest.h>

#include "cli/projects.h"
#include "cli/secrets.h"

namespace tidemill::cli {
namespace {

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kDay = 24 * 60 * kMinute;
constexpr std::int64_t kNow = 1'000 * kDay;

Token Some(std::uint64_t high) {
  Token token;
  token.id = {high, 1};
  token.name = "ann";
  token.project = "vision";
  token.role = Role::kSubmitter;
  token.made_by = "root";
  token.created_ms = kNow - 3 * kDay;
  token.expires_ms = kNow + 87 * kDay;
  return token;
}

TEST(Tokens, AreListedWithoutTheirSecrets) {
  Token join = Some(0x2f00'0000'0000'0000);
  join.kind = TokenKind::kJoin;
  join.pool = "gpu";
  join.used_ms = kNow - 4 * kMinute;
  join.expires_ms = kNow + 15 * kMinute;
  Token all = Some(0x3f00'0000'0000'0000);
  all.project = "";
  all.role = Role::kAdmin;
  all.made_by = "";
  all.revoked_ms = kNow;
  EXPECT_EQ(
      TokensText({Some(0x1f00'0000'0000'0000), join, all}, kNow, 100, false),
      "ID        NAME  ROLE       PROJECT  MADE BY  MADE     EXPIRES    LAST USED  STATE\n"
      "1f000000  ann   submitter  vision   root     3 d ago  in 87 d    never      good\n"
      "2f000000  ann   joins gpu  vision   root     3 d ago  in 15 min  4 min ago  good\n"
      "3f000000  ann   admin      *        -        3 d ago  in 87 d    never      revoked\n");
  EXPECT_EQ(TokensText({}, kNow, 100, false),
            "no tokens.  Make one:  tidemill token create --name N --role R\n");
}

TEST(Tokens, AreGoodUntilTheyAreRevokedExpiredOrUsedUp) {
  Token token = Some(1);
  EXPECT_EQ(TokenState(token, kNow), "good");
  token.uses_left = 1;
  EXPECT_EQ(TokenState(token, kNow), "good");
  token.uses_left = 0;
  EXPECT_EQ(TokenState(token, kNow), "used up");
  token.expires_ms = kNow;
  EXPECT_EQ(TokenState(token, kNow), "expired");
  token.revoked_ms = 1;
  EXPECT_EQ(TokenState(token, kNow), "revoked");
}

TEST(Tokens, AreFoundByTheBeginningOfTheirId) {
  const std::vector tokens = {Some(0x1f00'0000'0000'0000), Some(0x1f10'0000'0000'0000)};
  EXPECT_EQ(FindByPrefix(tokens, "1f0")->id, tokens[0].id);
  EXPECT_EQ(FindByPrefix(tokens, ToString(tokens[1].id))->id, tokens[1].id);
  const auto several = FindByPrefix(tokens, "1f");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, Code::kInvalid);
  for (const char* none : {"2", ""}) {
    const auto found = FindByPrefix(tokens, none);
    ASSERT_FALSE(found) << none;
    EXPECT_EQ(found.error().code, Code::kNotFound);
  }
}

TEST(Tokens, AreForAPersonOrForMachinesAndNotForBoth) {
  EXPECT_EQ(WrongToken({.name = "ann", .role = "viewer", .days = 1}), "");
  EXPECT_EQ(WrongToken({.join = "gpu", .minutes = 1, .uses = 1}), "");
  EXPECT_EQ(WrongToken({.name = "ann", .role = "viewer", .project = "*"}), "");
  for (const TokenFlags& wrong :
       {TokenFlags{}, TokenFlags{.name = "ann"}, TokenFlags{.role = "viewer"},
        TokenFlags{.name = "ann", .role = "viewer", .join = "gpu"},
        TokenFlags{.join = "gpu", .days = 1}, TokenFlags{.join = "gpu", .project = "*"},
        TokenFlags{.name = "ann", .role = "viewer", .minutes = 1},
        TokenFlags{.name = "ann", .role = "viewer", .uses = 1}}) {
    EXPECT_NE(WrongToken(wrong), "");
  }
}

TEST(Secrets, AreListedByName) {
  EXPECT_EQ(SecretsText({{"db", kNow - 2 * kMinute, "ann"}}, kNow, 100, false),
            "SECRET  SET        BY\n"
            "db      2 min ago  ann\n");
  EXPECT_EQ(SecretsText({}, kNow, 100, false), "no secrets.  Set one:  tidemill secret set NAME\n");
}

TEST(Projects, SayWhatPoolsDemandAndProjectsMay) {
  ContainerPolicy policy;
  EXPECT_EQ(DemandsText(policy), "-");
  policy.no_network = policy.firewall = true;
  policy.volumes = {{"m", {.host = "/srv/m"}}};
  EXPECT_EQ(PoolsText({{"vision", "gpu", policy}, {"vision", "default", {}}}, 100, false),
            "POOL     DEMANDS OF ITS CONTAINERS  VOLUMES\n"
            "gpu      no network, firewall       m = /srv/m\n"
            "default  -                          -\n");
  const std::vector<std::string> roles = {"arn:aws:iam::123456789012:role/r*"};
  EXPECT_EQ(
      ProjectsText({{"vision", {}, kNow - kDay, roles}, {"audio", {}, kNow - kDay, {}}}, kNow, 100,
                   false),
      "PROJECT  CALLS/S          ITEMS      LOG  MADE      CLOUD ROLES\n"
      "vision       200  1,000,000,000  100 MiB  24 h ago  arn:aws:iam::123456789012:role/r*\n"
      "audio        200  1,000,000,000  100 MiB  24 h ago  -\n");
}

TEST(Audit, SaysWhoDidWhatAndWhoWasNotLet) {
  AuditRow row;
  row.at_ms = kNow + 11 * 60 * kMinute;
  row.who = "ann\x1b";
  row.address = "10.0.0.7";
  row.action = "POST /v1/jobs/{job}/pause";
  row.target = "render-7";
  AuditRow refused = row;
  refused.target = "";
  refused.allowed = false;
  EXPECT_EQ(AuditText({row, refused}, row.at_ms, 3600, 100, false),
            "WHEN   WHO   FROM      ALLOWED  WHAT                       ON\n"
            "12:00  ann?  10.0.0.7  yes      POST /v1/jobs/{job}/pause  render-7\n"
            "12:00  ann?  10.0.0.7  no       POST /v1/jobs/{job}/pause  -\n");
}

}  // namespace
}  // namespace tidemill::cli
