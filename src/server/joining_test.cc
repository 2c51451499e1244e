// SPDX-License-Identifier: Apache-2.0
#include "server/joining.h"

#include <string>

#include <gtest/gtest.h>

#include "base/random.h"
#include "model/token.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

class JoiningTest : public testing::Test {
 protected:
  JoiningTest() {
    EXPECT_TRUE(store_.PutProject("vision", {.log_bytes = 77}));
    EXPECT_TRUE(store_.PutPool({"vision", "gpu", {.no_network = true}}));
    NewToken token;
    token.id = {1, 1};
    token.kind = TokenKind::kJoin;
    token.secret = join_;
    token.project = "vision";
    token.pool = "gpu";
    token.life = std::chrono::hours(1);
    EXPECT_TRUE(store_.CreateToken(token));
  }

  Result<JoinedMachine> Join(SessionId session, const std::string& with,
                             const std::string& key = "key") {
    last_ = MakeToken(kSessionPrefix, random_);
    return JoinMachine({store_, store_, &store_}, {session, "m", key, with, {1000, 0}, "10.0.0.1"},
                       {.session_life = std::chrono::seconds(60),
                        .token_life = std::chrono::hours(1),
                        .token = last_});
  }

  SeededRandom random_{1};
  MemoryStore store_{[] { return std::int64_t{1'700'000'000'000'000}; }};
  const std::string join_ = MakeToken(kJoinPrefix, random_);
  std::string last_;
};

TEST_F(JoiningTest, AJoinTokenLeadsToItsPool) {
  const auto joined = Join({1, 2}, join_);
  ASSERT_TRUE(joined) << joined.error().reason;
  EXPECT_EQ(joined->session.project, "vision");
  EXPECT_TRUE(joined->answer.policy.no_network);
  EXPECT_EQ(joined->answer.log_bytes, 77);
  EXPECT_EQ(joined->answer.token, last_);
  EXPECT_EQ(joined->answer.heartbeat, std::chrono::seconds(10));
  const auto session = store_.CheckPass({{1, 2}, last_}, std::chrono::hours(1), std::nullopt);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->pool, "gpu");
  const auto audit = store_.ListAudit({});
  ASSERT_EQ(audit->size(), 1u);
  EXPECT_EQ(audit->front().who, "m");
  EXPECT_EQ(audit->front().address, "10.0.0.1");
}

TEST_F(JoiningTest, ASessionGoesOnWithItsOwnToken) {
  ASSERT_TRUE(Join({1, 2}, join_));
  const std::string own = last_;
  ASSERT_TRUE(store_.RevokeToken("", {1, 1}));
  EXPECT_EQ(Join({1, 2}, join_).error().code, Code::kNobody);
  ASSERT_TRUE(Join({1, 2}, own));
  // Not with that of another one, nor on another machine.
  EXPECT_EQ(Join({3, 4}, own).error().code, Code::kLost);
  EXPECT_EQ(Join({1, 2}, own, "another key").error().code, Code::kConflict);
}

TEST_F(JoiningTest, AMachineThatHasProvenWhatItIsIsCalledAsItsProviderHasIt) {
  ASSERT_TRUE(store_.OrderMachines("vision", "gpu", 0, 1, {}));
  const auto prove = [this](const std::string& id, PlanStore* plans) {
    JoinRequest request{{1, 2}, "whatever it says", "key", "", {1000, 0}, "10.0.0.1"};
    request.project = "vision";
    request.pool = "gpu";
    return JoinMachine({store_, store_, plans}, request,
                       {.session_life = std::chrono::seconds(60),
                        .token_life = std::chrono::hours(1),
                        .token = MakeToken(kSessionPrefix, random_),
                        .proven = id});
  };
  // Its provider has not shown it yet: it comes again.
  EXPECT_EQ(prove("i-a", &store_).error().code, Code::kUnavailable);
  ASSERT_TRUE(store_.SeeMachines({{{{"vision", "gpu", 0}, TimePoint(Duration(1)), {}, "i-a"}}}));
  EXPECT_EQ(prove("i-b", &store_).error().code, Code::kUnavailable);
  EXPECT_EQ(prove("i-a", nullptr).error().code, Code::kNobody);
  const auto joined = prove("i-a", &store_);
  ASSERT_TRUE(joined) << joined.error().reason;
  EXPECT_EQ(joined->answer.machine, "gpu-0");
  EXPECT_EQ(joined->session.machine, "gpu-0");
  EXPECT_EQ(store_.ListAudit({})->front().who, "gpu-0");
}

TEST_F(JoiningTest, RefusalsAreInTheAuditToo) {
  ASSERT_TRUE(Join({1, 2}, join_));
  EXPECT_EQ(Join({5, 6}, join_, "another key").error().code, Code::kConflict);
  EXPECT_FALSE(store_.ListAudit({})->front().allowed);
  EXPECT_EQ(Join({5, 6}, "nonsense").error().code, Code::kNobody);
}

}  // namespace
}  // namespace tidemill
