// SPDX-License-Identifier: Apache-2.0
// How often a guard lets calls through, on a virtual clock.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "model/token.h"
#include "server/http/guard.h"
#include "server/server_test.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GuardRatesTest : public ::testing::Test {
 protected:
  // A token of a project that may make ten calls a second.
  std::string TokenIn(const std::string& project) {
    EXPECT_TRUE(store_.PutProject(project, {.calls_per_second = 10}));
    NewToken token;
    token.id = random_.NewId<TokenId>();
    token.secret = MakeToken(kApiPrefix, random_);
    token.project = project;
    token.role = Role::kViewer;
    token.life = std::chrono::hours(1000);
    EXPECT_TRUE(store_.CreateToken(token));
    return token.secret;
  }

  void Pass(Duration time) {
    bool is_over = false;
    loop_.After(time, [&] { is_over = true; });
    while (!is_over) loop_.Step();
  }

  struct Answers {
    int let_through = 0;
    int refused = 0;  // 429
    int forbidden = 0;
  };
  // So many calls at one moment. The store answers each within 16 ms, in which no bucket fills by
  // as much as one.
  Answers Flood(const std::string& token, int count, Needs needs = Needs::kViewer) {
    Answers answers;
    for (int i = 0; i < count; ++i) {
      Call call;
      call.request.method = "GET";
      call.request.address = "10.0.0.1";
      call.request.headers.emplace_back("Authorization", "Bearer " + token);
      call.request.peer = std::make_shared<HttpPeer>();
      call.respond = [&answers](const HttpResponse& answer) {
        ++(answer.status == 429 ? answers.refused : answers.forbidden);
        EXPECT_TRUE(answer.status == 429 || answer.status == 403) << answer.status;
      };
      guard_.Admit(needs, "GET /", std::move(call),
                   [&answers](const Call&) { ++answers.let_through; });
    }
    Pass(milliseconds(20));
    EXPECT_EQ(answers.let_through + answers.refused + answers.forbidden, count);
    return answers;
  }

  // Nothing: the token is good.
  std::optional<Code> Refusal(const std::string& secret, const std::string& address) {
    std::optional<Result<Caller>> caller;
    guard_.Identify(secret, address, peer_, [&](Result<Caller> got) { caller = std::move(got); });
    if (!caller) Pass(milliseconds(20));
    if (!caller) return Code::kInternal;
    return *caller ? std::nullopt : std::optional(caller->error().code);
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  ErrorLog log_;
  MemoryStore store_{[] { return std::int64_t{1'700'000'000'000'000}; }};
  VirtualWorker worker_{loop_, random_};
  Server server_{{loop_, worker_, worker_, store_, store_, random_, log_}, {}};
  Gate gate_{{.under_way = 1000, .waiting = 1000}};
  Guard guard_{server_, gate_, log_};
  const std::shared_ptr<HttpPeer> peer_ = std::make_shared<HttpPeer>();
};

// Four seconds' worth may come at once: 40 of a project, and half of them of a token.
TEST_F(GuardRatesTest, CallsAreLimitedByTokenAndByProject) {
  const std::string first = TokenIn("p");
  const std::string second = TokenIn("p");
  const std::string third = TokenIn("p");
  EXPECT_EQ(Flood(first, 60).let_through, 20);
  EXPECT_EQ(Flood(second, 60).let_through, 20);
  EXPECT_EQ(Flood(third, 60).let_through, 0) << "the project has no more";
  EXPECT_EQ(Flood(TokenIn("q"), 10).let_through, 10) << "another project";
  Pass(seconds(1));
  EXPECT_EQ(Flood(first, 60).let_through, 5);
  EXPECT_EQ(Flood(second, 60).let_through, 5);
  Pass(seconds(60));
  EXPECT_EQ(Flood(first, 60).let_through, 20) << "no more than it holds";
}

TEST_F(GuardRatesTest, ACallThatIsForbiddenCountsToo) {
  const Answers answers = Flood(TokenIn("p"), 40, Needs::kAdmin);
  EXPECT_EQ(answers.forbidden, 20);
  EXPECT_EQ(answers.refused, 20);
}

TEST_F(GuardRatesTest, WrongTokensFromOneAddressAreSlowedDown) {
  const std::string good = TokenIn("p");
  const std::string known = TokenIn("p");
  EXPECT_EQ(Refusal(known, "10.0.0.1"), std::nullopt);
  const auto guess = [this] { return Refusal(MakeToken(kApiPrefix, random_), "10.0.0.1"); };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(guess(), Code::kNobody);
  EXPECT_EQ(guess(), Code::kExhausted);
  // Good tokens elsewhere do not notice, nor does one that was good lately.
  EXPECT_EQ(Refusal(good, "10.0.0.2"), std::nullopt);
  EXPECT_EQ(Refusal(known, "10.0.0.1"), std::nullopt);
  // Another one behind the address waits for no longer than a second.
  const std::string other = TokenIn("p");
  EXPECT_EQ(Refusal(other, "10.0.0.1"), Code::kExhausted);
  Pass(milliseconds(400));  // the store has taken nearly as long for the others
  EXPECT_EQ(Refusal(other, "10.0.0.1"), Code::kExhausted);
  Pass(milliseconds(600));
  EXPECT_EQ(Refusal(other, "10.0.0.1"), std::nullopt);
  EXPECT_EQ(guess(), Code::kNobody);
  EXPECT_EQ(guess(), Code::kExhausted);
  EXPECT_EQ(guard_.MayJoin(MakeToken(kJoinPrefix, random_), "10.0.0.1").has_value(), true)
      << "machines behind it are not people";
}

TEST_F(GuardRatesTest, AWrongTokenThatComesAgainAndAgainLocksNobodyOut) {
  const std::string old = MakeToken(kApiPrefix, random_);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Refusal(old, "10.0.0.1"), Code::kNobody);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Refusal("hunter2", "10.0.0.1"), Code::kNobody);
  EXPECT_EQ(Refusal(TokenIn("p"), "10.0.0.1"), std::nullopt);
}

TEST_F(GuardRatesTest, WrongJoinTokensFromOneAddressAreSlowedDown) {
  const auto guess = [this]() -> std::optional<Code> {
    const std::string token = MakeToken(kJoinPrefix, random_);
    const Result<void> may = guard_.MayJoin(token, "10.0.0.1");
    if (!may) return may.error().code;
    guard_.NoteWrongJoin(token, "10.0.0.1");
    const Result<void> again = guard_.MayJoin(token, "10.0.0.1");
    EXPECT_EQ(again.has_value() ? Code::kInternal : again.error().code, Code::kNobody);
    return std::nullopt;
  };
  const std::string known = MakeToken(kJoinPrefix, random_);
  guard_.NoteGood(known);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(guess(), std::nullopt);
  EXPECT_EQ(guess(), Code::kExhausted);
  EXPECT_TRUE(guard_.MayJoin(known, "10.0.0.1"));
  EXPECT_TRUE(guard_.MayJoin(MakeToken(kJoinPrefix, random_), "10.0.0.2"));
  Pass(seconds(1));
  EXPECT_EQ(guess(), std::nullopt);
}

TEST_F(GuardRatesTest, WhoShowsNoTokenThatCouldBeOneSendsItsBodyInVain) {
  const auto foresee = [this](Needs needs, const std::string& token) {
    HttpRequest head;
    if (!token.empty()) head.headers.emplace_back("Authorization", "Bearer " + token);
    return guard_.Foresee(needs, head);
  };
  const std::string person = TokenIn("p");
  const std::string session = MakeToken(kSessionPrefix, random_);
  for (const Needs needs : {Needs::kViewer, Needs::kServerAdmin, Needs::kSessionToken}) {
    EXPECT_FALSE(foresee(needs, "").reads_body);
    EXPECT_FALSE(foresee(needs, "hunter2").reads_body);
    EXPECT_FALSE(foresee(needs, MakeToken(kJoinPrefix, random_)).reads_body);
  }
  EXPECT_FALSE(foresee(Needs::kViewer, session).reads_body);
  EXPECT_FALSE(foresee(Needs::kSessionToken, person).reads_body);
  // A login, and a proof in place of a join token, are short.
  EXPECT_LT(foresee(Needs::kNothing, "").max_body_bytes, 100'000U);
  EXPECT_LT(foresee(Needs::kJoinToken, "").max_body_bytes, 100'000U);
  EXPECT_TRUE(foresee(Needs::kViewer, person).reads_body);
  EXPECT_FALSE(foresee(Needs::kViewer, person).known);
  EXPECT_EQ(Refusal(person, "10.0.0.1"), std::nullopt);
  EXPECT_TRUE(foresee(Needs::kViewer, person).known);
  EXPECT_FALSE(foresee(Needs::kSessionToken, session).known);
  guard_.NoteGood(session);
  EXPECT_TRUE(foresee(Needs::kSessionToken, session).known);
}

}  // namespace
}  // namespace tidemill
