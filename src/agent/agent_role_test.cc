// SPDX-License-Identifier: Apache-2.0
// The keys of a job's role, on their way from the servers to its containers.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent_test.h"
#include "agent/hand_engine.h"
#include "agent/run_tag.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class AgentRoleTest : public AgentTest {
 protected:
  ~AgentRoleTest() override { agent_.reset(); }  // its containers are the engine's
  void StartByHand() {
    link_.documents[JobId{1}] =
        R"({"command":["true"],"role":"arn:aws:iam::123456789012:role/r","resources":{"cpus":2}})";
    AgentOptions options;
    options.machine = "m1";
    options.shape = {4000, 8LL << 30, {}};
    hand_ = std::make_unique<HandEngine>(loop_);
    agent_ = std::make_unique<Agent>(AgentDeps{loop_, link_, *hand_, random_, log_, logs_, memory_},
                                     options);
    agent_->Start();
  }
  static RoleKeys KeysCalled(const std::string& name) {
    return {.document = name, .secrets = {name}, .ask_again = seconds(600)};
  }

  std::unique_ptr<HandEngine> hand_;
};

TEST_F(AgentRoleTest, EachContainerHasThemBeforeItsFirstRunAndWheneverThereAreNewOnes) {
  link_.role = KeysCalled("first-keys");
  Grants(1, 0, 20);
  StartByHand();
  RunFor(seconds(5));
  ASSERT_EQ(hand_->made.size(), 2U);
  for (const HandEngine::Made* container : hand_->made) {
    EXPECT_EQ(container->roles, std::vector<std::string>{"first-keys"});
    EXPECT_EQ(container->runs_before_role, 0U);
    EXPECT_FALSE(container->runs.empty());
  }
  link_.role = KeysCalled("second-keys");
  RunFor(seconds(620));
  ASSERT_EQ(hand_->made.size(), 2U);
  for (const HandEngine::Made* container : hand_->made) {
    EXPECT_EQ(container->roles, (std::vector<std::string>{"first-keys", "second-keys"}));
  }
  EXPECT_EQ(link_.roles_asked, 2);
}

// It may have both: what it took before it was told the new ones, and these.
TEST_F(AgentRoleTest, ARunThatGoesOnPrintsNeitherTheOldNorTheNewOnes) {
  link_.role = KeysCalled("first-keys");
  Grants(1, 0, 1);
  StartByHand();
  RunFor(seconds(5));
  ASSERT_EQ(hand_->made.size(), 1U);
  HandEngine::Made* container = hand_->made[0];
  ASSERT_EQ(container->runs.size(), 1U);
  const std::uint64_t number = container->runs[0].number;
  container->events.OnLog(number, "first-keys second-keys first-");
  link_.role = KeysCalled("second-keys");
  RunFor(seconds(620));
  ASSERT_EQ(container->roles.size(), 2U);
  container->events.OnLog(number, "keys second-keys\n");
  container->End(0);
  RunFor(seconds(5));
  EXPECT_EQ(logs_.text[0], "*** second-keys *** ***\n");
}

TEST_F(AgentRoleTest, AContainerThatIsTakenOverIsToldThem) {
  link_.role = KeysCalled("first-keys");
  link_.documents[JobId{1}] =
      R"({"command":["true"],"role":"arn:aws:iam::123456789012:role/r","resources":{"cpus":1}})";
  std::vector<std::string> told;
  play_.on_role = [&](std::string_view keys) { told.emplace_back(keys); };
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(5)}; };
  FakeFound found;
  found.spec.job = {1};
  found.spec.limits = {1000, 0};
  ItemRun run;
  run.number = 7;
  run.tag = FormatRunTag({{{1, 1}, 0}, 0});
  found.runs = {run};
  play_.found = {found};
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(3));
  EXPECT_EQ(told, std::vector<std::string>{"first-keys"});
  RunFor(seconds(10));
  EXPECT_EQ(link_.outcomes.size(), 1U);
}

TEST_F(AgentRoleTest, AJobWhoseRoleCannotBeHadIsGivenBackWithTheReason) {
  link_.role_error = Error{Code::kInvalid, "the keys of role r cannot be had: AccessDenied"};
  Grants(1, 0, 4);
  StartByHand();
  RunFor(seconds(5));
  ASSERT_EQ(link_.troubles.size(), 1U);
  EXPECT_EQ(link_.troubles[0].reason, "the keys of role r cannot be had: AccessDenied");
  EXPECT_EQ(link_.given_back, 4);
}

}  // namespace
}  // namespace tidemill
