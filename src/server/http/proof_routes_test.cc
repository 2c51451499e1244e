// SPDX-License-Identifier: Apache-2.0
// What a cloud has a say in: joining by a proof, and settings that a pool's provider must like.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "model/token.h"
#include "provider/fake_provider.h"
#include "server/http/api.h"
#include "server/server_test.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

const std::string kProofProject{kDefaultProject};
constexpr char kMachines[] = R"({"provider":"local","shape":{"cpus":1,"memory":"1GiB"},"max":3})";

// Remembers which pools were taken away.
class SeenProvider : public FakeProvider {
 public:
  using FakeProvider::FakeProvider;
  void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) override {
    removed.push_back(pool.pool.name);
    FakeProvider::Remove(pool, std::move(done));
  }
  std::vector<std::string> removed;
};

// Believes whoever says "good", and takes its time for "slow".
class PlayedProofs : public ProofChecker {
 public:
  explicit PlayedProofs(Loop& loop) : loop_(loop) {}
  void Check(MachineProof proof, std::function<void(Result<ProvenMachine>)> done) override {
    ++checked;
    if (proof.document == "slow") return slow.push_back(std::move(done));
    loop_.After({}, [done = std::move(done), proof = std::move(proof)] {
      if (proof.document != "good") return done(Fail(Code::kNobody, "it proves nothing"));
      done(ProvenMachine{proof.provider, "i-a"});
    });
  }
  int checked = 0;
  std::vector<std::function<void(Result<ProvenMachine>)>> slow;

 private:
  Loop& loop_;
};

class ProofRoutesTest : public ::testing::Test {
 protected:
  ProofRoutesTest() {
    NewToken admin;
    admin.id = {1, 1};
    admin.secret = admin_;
    admin.project = kProofProject;
    admin.role = Role::kAdmin;
    admin.life = std::chrono::hours(1000);
    EXPECT_TRUE(store_.CreateToken(admin));
    EXPECT_TRUE(store_.PutPool({kProofProject, "spot", {}}));
    NewToken join = admin;
    join.id = {1, 2};
    join.kind = TokenKind::kJoin;
    join.secret = join_;
    join.pool = "spot";
    EXPECT_TRUE(store_.CreateToken(join));
  }

  using Answer = std::optional<HttpResponse>;
  std::shared_ptr<Answer> Send(const std::string& method, const std::string& path,
                               const std::string& body, const std::string& token) {
    HttpRequest request{.method = method, .path = path, .body = body, .address = "10.0.0.9"};
    if (!body.empty()) request.content_type = "application/json";
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    request.peer = std::make_shared<HttpPeer>();
    auto answer = std::make_shared<Answer>();
    api_.Handle(std::move(request), [answer](HttpResponse got) { *answer = std::move(got); });
    return answer;
  }
  HttpResponse Call(const std::string& method, const std::string& path, const std::string& body,
                    const std::string& token) {
    const auto answer = Send(method, path, body, token);
    for (int i = 0; i < 100'000 && !*answer; ++i) loop_.Step();
    return answer->value_or(HttpResponse{.status = 0, .body = "no answer came"});
  }
  HttpResponse Set() { return Call("PUT", "/v1/pools/spot/machines", kMachines, admin_); }

  static std::string Joining(const std::string& document) {
    std::string body = R"({"version":1,"session":"00000000-0000-0001-0000-000000000002",)"
                       R"("machine":"m","machine_key":"k","resources":{"cpus":1,"memory":1})";
    if (!document.empty()) {
      body += R"(,"proof":{"provider":"aws","document":")" + document +
              R"(","signature":"s"},"project":")" + kProofProject + R"(","pool":"spot")";
    }
    return body + "}";
  }
  HttpResponse Prove(const std::string& document) {
    return Call("POST", "/v1/agents/join", Joining(document), "");
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  ErrorLog log_;
  MemoryStore store_{[] { return std::int64_t{1'700'000'000'000'000}; }};
  VirtualWorker worker_{loop_, random_};
  SeenProvider provider_{loop_, [] { return TimePoint(std::chrono::hours(5)); }};
  PlayedProofs proofs_{loop_};
  const std::string admin_ = MakeToken(kApiPrefix, random_);
  const std::string join_ = MakeToken(kJoinPrefix, random_);
  Server server_{{loop_,
                  worker_,
                  worker_,
                  store_,
                  store_,
                  random_,
                  log_,
                  &store_,
                  {{"local", &provider_}},
                  &proofs_},
                 {}};
  Api api_{server_, store_, random_, log_, {}};
};

TEST_F(ProofRoutesTest, AMachineThatIsKnownJoinsByItsProof) {
  EXPECT_EQ(Prove("").status, 401);
  EXPECT_EQ(Prove("bad").status, 401);
  EXPECT_EQ(Prove("good").status, 503);  // nobody has shown it yet
  ASSERT_TRUE(store_.OrderMachines(kProofProject, "spot", 0, 1, {}));
  ASSERT_TRUE(
      store_.SeeMachines({{{{kProofProject, "spot", 0}, TimePoint(Duration(1)), {}, "i-a"}}}));
  const HttpResponse joined = Prove("good");
  EXPECT_EQ(joined.status, 200) << joined.body;
  EXPECT_NE(joined.body.find(R"("machine":"spot-0")"), std::string::npos) << joined.body;
}

TEST_F(ProofRoutesTest, WrongProofsFromOneAddressAreSoonNotLookedAt) {
  int refused = 0;
  for (int i = 0; i < 40; ++i) refused += Prove("bad").status == 429 ? 1 : 0;
  EXPECT_GT(refused, 15);
  EXPECT_LT(proofs_.checked, 25);
}

TEST_F(ProofRoutesTest, AProofThatTakesItsTimeHoldsUpNobody) {
  std::vector<std::shared_ptr<Answer>> slow;
  for (int i = 0; i < 10; ++i) slow.push_back(Send("POST", "/v1/agents/join", Joining("slow"), ""));
  EXPECT_EQ(Call("POST", "/v1/agents/join", Joining(""), join_).status, 200);
  for (const auto& answer : slow) EXPECT_FALSE(*answer);
  ASSERT_EQ(proofs_.slow.size(), 10U);
  for (const auto& done : proofs_.slow) done(Fail(Code::kUnavailable, "nobody answers"));
  for (const auto& answer : slow) EXPECT_EQ(answer->value().status, 503);
}

TEST_F(ProofRoutesTest, SettingsThatTheProviderRefusesAreNotKept) {
  provider_.play().error = Error{Code::kInvalid, "options.image: say which"};
  HttpResponse answer = Set();
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("options.image: say which"), std::string::npos) << answer.body;
  EXPECT_EQ(store_.FindPoolSettings(kProofProject, "spot")->machines.provider, "");
  provider_.play().error.reset();
  EXPECT_EQ(Set().status, 200);
  EXPECT_EQ(store_.FindPoolSettings(kProofProject, "spot")->machines.provider, "local");
}

// To be told to sign in would lead nowhere.
TEST_F(ProofRoutesTest, AServerWithoutCredentialsIsNotTakenForACallerWithoutOne) {
  for (const Code code : {Code::kNobody, Code::kForbidden}) {
    provider_.play().error = Error{code, "no credentials"};
    const HttpResponse answer = Set();
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_NE(answer.body.find("the server cannot have machines of local: no credentials"),
              std::string::npos)
        << answer.body;
  }
  provider_.play().error = Error{Code::kUnavailable, "throttled"};
  EXPECT_EQ(Set().status, 503);
}

TEST_F(ProofRoutesTest, WithAPoolGoesWhatItsMachinesCameFrom) {
  ASSERT_EQ(Set().status, 200);
  EXPECT_EQ(Call("DELETE", "/v1/pools/nothing", "", admin_).status, 404);
  EXPECT_TRUE(provider_.removed.empty());
  EXPECT_EQ(Call("DELETE", "/v1/pools/spot", "", admin_).status, 409);  // a join token leads there
  EXPECT_TRUE(provider_.removed.empty());
  ASSERT_TRUE(store_.RevokeToken(kProofProject, {1, 2}));
  EXPECT_EQ(Call("DELETE", "/v1/pools/spot", "", admin_).status, 204);
  EXPECT_EQ(provider_.removed, std::vector<std::string>{"spot"});
}

}  // namespace
}  // namespace tidemill
