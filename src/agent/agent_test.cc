// SPDX-License-Identifier: Apache-2.0
// What becomes of leases and their items.
#include "agent/agent_test.h"

#include <algorithm>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(AgentTest, RunsTheItemsOfItsLeasesAndTellsWhatBecameOfThem) {
  play_.run = [](const ItemRun& run) {
    const bool fails =
        std::find(run.env.begin(), run.env.end(), "TIDEMILL_INDEX=3") != run.env.end();
    return FakeRun{.takes = milliseconds(500), .exit = fails ? 9 : 0, .log = "hello\n"};
  };
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(20));
  ASSERT_EQ(link_.outcomes.size(), 8U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].cause, item == 3 ? Cause::kFailed : Cause::kSucceeded);
    EXPECT_EQ(outcomes[0].exit, item == 3 ? 9 : 0);
    EXPECT_EQ(outcomes[0].duration_ms, 500);
    EXPECT_EQ(outcomes[0].machine, "m1");
    EXPECT_EQ(logs_.text[item], "hello\n");
  }
  EXPECT_EQ(logs_.closed.size(), 8U);
  EXPECT_TRUE(link_.syncs.back().known.empty());
}

TEST_F(AgentTest, AnOutcomeSaysWhereItsLogWillBe) {
  link_.objects = "s3://bucket/x";
  play_.run = [](const ItemRun&) { return FakeRun{.log = "hello\n"}; };
  Grants(1, 0, 2);
  StartAgent();
  RunFor(seconds(10));
  EXPECT_EQ(logs_.places.at({1}), "s3://bucket/x/jobs/films/test-1/logs/");
  EXPECT_TRUE(logs_.session_is_new);
  EXPECT_EQ(logs_.session, ToString(link_.joins.at(0)));
  ASSERT_EQ(link_.outcomes.size(), 2U);
  EXPECT_EQ(link_.outcomes[1].at(0).log, logs_.session + "/1");
}

TEST_F(AgentTest, ALogMayHaveBegunInAnEarlierLife) {
  AgentOptions options;
  options.pass = {{1, 2}, "token"};
  StartAgent(options);
  EXPECT_FALSE(logs_.session_is_new);
}

// Also one that is full hears at once that somebody reads.
TEST_F(AgentTest, HearsWhoseLogsAreFollowedAsSoonAsItIsWoken) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(10), .log = "hello\n"}; };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(13));
  const std::size_t before = link_.syncs.size();
  EXPECT_TRUE(logs_.followed.empty());
  link_.followed = {{1}};
  link_.waits(true);
  RunFor(milliseconds(200));
  EXPECT_EQ(link_.syncs.size(), before + 1);
  EXPECT_EQ(logs_.followed, std::vector<JobId>{{1}});
}

constexpr char kWithSecrets[] = R"({"command":["true"],"secrets":["TOKEN"]})";

TEST_F(AgentTest, HidesTheSecretsOfAJobInTheLogsOfItsItems) {
  link_.documents[JobId{1}] = kWithSecrets;
  link_.secrets = {{"TOKEN", "hunter2!"}};
  play_.run = [](const ItemRun& run) {
    EXPECT_NE(std::find(run.env.begin(), run.env.end(), "TOKEN=hunter2!"), run.env.end());
    return FakeRun{.log = "it is hunter2! or hunter"};
  };
  Grants(1, 0, 4, {1});
  Grants(2, 4, 4, {2});
  link_.documents[JobId{2}] = R"({"command":["true"],"env":{"TOKEN":"hunter2!"}})";
  StartAgent();
  RunFor(seconds(10));
  ASSERT_EQ(logs_.text.size(), 8U);
  for (const auto& [item, text] : logs_.text) {
    EXPECT_EQ(text, item < 4 ? "it is *** or hunter" : "it is hunter2! or hunter");
  }
  EXPECT_EQ(logs_.closed.size(), 8U);
}

// Also what was held back when a container ended is in the log, before what is said of it.
TEST_F(AgentTest, LosesNothingOfALogThatEndsLikeASecretBegins) {
  link_.documents[JobId{1}] = kWithSecrets;
  link_.secrets = {{"TOKEN", "hunter2!"}};
  play_.run = [](const ItemRun&) { return FakeRun{.log = "hunt", .ends_container = true}; };
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(20));
  ASSERT_EQ(link_.outcomes.size(), 1U);
  const std::string& text = logs_.text[0];
  EXPECT_TRUE(text.starts_with("hunttidemill: its container ended")) << text;
  EXPECT_NE(text.find("\nhunttidemill: its container ended under it"), std::string::npos) << text;
}

// The job is forgotten with its lease, while the item still ends.
TEST_F(AgentTest, HidesSecretsAlsoOfAnItemWhoseLeaseIsGone) {
  link_.documents[JobId{1}] = kWithSecrets;
  link_.secrets = {{"TOKEN", "hunter2!"}};
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(8), .log = "hunter2!."}; };
  play_.stopping = seconds(6);
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(2));
  link_.to_drop = {{1, 1}};
  RunFor(seconds(30));
  EXPECT_EQ(logs_.text[0], "***.");
  EXPECT_TRUE(logs_.closed.contains(0));
}

TEST_F(AgentTest, TellsWhichSecretOfAJobIsMissing) {
  link_.documents[JobId{1}] = kWithSecrets;
  link_.secrets = {{"OTHER", "canary"}};
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(5));
  ASSERT_EQ(link_.troubles.size(), 1U);
  EXPECT_EQ(link_.troubles[0].reason,
            "secret 'TOKEN' does not exist in this project; set it: tidemill secret set TOKEN");
  EXPECT_EQ(link_.given_back, 4);
  EXPECT_TRUE(link_.outcomes.empty());
  // Somebody sets it and resumes the job.
  link_.secrets = {{"TOKEN", "hunter2!"}};
  Grants(2, 0, 4);
  RunFor(seconds(30));
  EXPECT_EQ(link_.outcomes.size(), 4U);
}

TEST_F(AgentTest, RunsNoMoreAtATimeThanTheMachineHas) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(5)}; };
  Grants(1, 0, 20);
  StartAgent();
  RunFor(seconds(3));
  EXPECT_EQ(engine_->containers(), 4U);
  RunFor(seconds(40));
  EXPECT_EQ(link_.outcomes.size(), 20U);
}

TEST_F(AgentTest, KeepsContainersWarmForAWhileAndThenEndsThem) {
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(5));
  EXPECT_GT(engine_->containers(), 0U);
  RunFor(seconds(15));
  EXPECT_EQ(engine_->containers(), 0U);
}

TEST_F(AgentTest, AContainerOfAnotherJobMakesWay) {
  Grants(1, 0, 4, {1});
  Grants(2, 4, 4, {2});
  StartAgent();
  // Sooner than a container without work ends by itself.
  RunFor(seconds(6));
  EXPECT_EQ(link_.outcomes.size(), 8U);
  EXPECT_LE(engine_->containers(), 4U);
}

TEST_F(AgentTest, SaysItAgainWhileNoServerAnswersAndStartsNothingPastItsSession) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(7)}; };
  Grants(1, 0, 100);
  StartAgent();
  RunFor(seconds(5));
  link_.down = true;
  RunFor(minutes(3));
  link_.down = false;
  const auto told = link_.outcomes.size();
  RunFor(seconds(6));
  // 54 of the 60 seconds of a session, four at a time, and not one after.
  EXPECT_LE(told, 8U);
  EXPECT_GE(link_.outcomes.size(), 28U);
  EXPECT_LE(link_.outcomes.size(), 40U);
  for (const auto& [item, outcomes] : link_.outcomes) EXPECT_EQ(outcomes.size(), 1U) << item;
  RunFor(minutes(3));
  EXPECT_EQ(link_.outcomes.size(), 100U);
}

TEST_F(AgentTest, DropsItsWorkAndJoinsAnewWhenItsSessionIsLost) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(20)}; };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(3));
  link_.lose_session = true;
  RunFor(seconds(12));
  ASSERT_EQ(link_.joins.size(), 2U);
  EXPECT_NE(link_.joins[0], link_.joins[1]);
  EXPECT_EQ(memory_.session, link_.joins[1]);
  EXPECT_TRUE(link_.syncs.back().known.empty());
  RunFor(minutes(2));
  EXPECT_TRUE(link_.outcomes.empty());
}

TEST_F(AgentTest, GoesOnWithTheSessionOfItsLastLifeAndUsesNoNumberTwice) {
  AgentOptions options;
  options.pass.session = SessionId{5, 5};
  options.run = 2;
  Grants(1, 0, 4);
  StartAgent(options);
  RunFor(seconds(5));
  EXPECT_EQ(link_.joins, std::vector<SessionId>{options.pass.session});
  int first = 1 << 30;
  for (const SyncRequest& sync : link_.syncs) {
    for (const Settlement& settlement : sync.settlements) first = std::min(first, settlement.seq);
  }
  EXPECT_EQ(first, 2 * 65'536);
}

TEST_F(AgentTest, StopsItemsWhoseLeaseIsGone) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(10)}; };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(3));
  link_.to_drop = {{1, 1}};
  RunFor(seconds(30));
  EXPECT_EQ(engine_->containers(), 0U);
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_EQ(link_.given_back, 0);
}

TEST_F(AgentTest, AnItemWhoseContainerEndsRunsAgain) {
  int ends = 2;
  play_.run = [&ends](const ItemRun&) { return FakeRun{.ends_container = ends-- > 0}; };
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(10));
  ASSERT_EQ(link_.outcomes.size(), 1U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kSucceeded);
  EXPECT_NE(logs_.text[0].find("it begins anew"), std::string::npos);
}

TEST_F(AgentTest, AnItemThatEndsEveryContainerHasFailed) {
  play_.run = [](const ItemRun& run) {
    const bool bad = std::find(run.env.begin(), run.env.end(), "TIDEMILL_INDEX=1") != run.env.end();
    return FakeRun{.ends_container = bad};
  };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(30));
  ASSERT_EQ(link_.outcomes.size(), 4U);
  EXPECT_EQ(link_.outcomes[1][0].cause, Cause::kFailed);
  EXPECT_EQ(link_.outcomes[1][0].exit, 137);
  EXPECT_EQ(link_.outcomes[2][0].cause, Cause::kSucceeded);
}

TEST_F(AgentTest, TellsAboutAJobThatCannotRunHereAndGivesItBack) {
  play_.open = [](const ContainerSpec& spec) -> Result<void> {
    if (spec.job == JobId{1}) return Fail(Code::kInvalid, "no such image");
    return {};
  };
  Grants(1, 0, 8, {1});
  Grants(2, 10, 8, {2});
  StartAgent();
  RunFor(seconds(10));
  ASSERT_FALSE(link_.troubles.empty());
  EXPECT_EQ(link_.troubles[0].job, JobId{1});
  EXPECT_EQ(link_.troubles[0].reason, "no such image");
  EXPECT_EQ(link_.given_back, 8);
  EXPECT_EQ(link_.outcomes.size(), 8U);
}

TEST_F(AgentTest, DoesNotHaveAJobPausedAgainThatWasJustResumed) {
  bool mended = false;
  play_.open = [&mended](const ContainerSpec&) -> Result<void> {
    if (!mended) return Fail(Code::kInvalid, "no such image");
    return {};
  };
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(1));
  ASSERT_EQ(link_.troubles.size(), 1U);
  mended = true;
  Grants(2, 8, 8);
  RunFor(seconds(4));
  EXPECT_EQ(link_.troubles.size(), 1U);
  Grants(3, 16, 8);
  RunFor(seconds(20));
  EXPECT_EQ(link_.troubles.size(), 1U);
  EXPECT_GE(link_.outcomes.size(), 8U);
}

TEST_F(AgentTest, GivesBackWhatWaitsWhenItsEngineStaysAway) {
  bool away = false;
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(2)}; };
  play_.open = [&away](const ContainerSpec&) -> Result<void> {
    if (away) return Fail(Code::kUnavailable, "away");
    return {};
  };
  play_.recover = [&away]() -> Result<void> {
    if (away) return Fail(Code::kUnavailable, "away");
    return {};
  };
  Grants(1, 0, 40);
  StartAgent();
  RunFor(seconds(3));
  away = true;
  engine_->LoseAll("restarted");
  RunFor(minutes(1));
  EXPECT_GT(link_.given_back, 20);
  EXPECT_EQ(link_.syncs.back().free.millicpus, 0);
  // Those that ran when it went away are told.
  EXPECT_EQ(link_.given_begun, 4);
  int faults = 0;
  for (const auto& [item, outcomes] : link_.outcomes) {
    faults += outcomes.back().cause == Cause::kMachineFault ? 1 : 0;
  }
  EXPECT_EQ(faults, 4);
  away = false;
  RunFor(minutes(1));
  EXPECT_EQ(link_.syncs.back().free.millicpus, 4000);
}

TEST_F(AgentTest, AnEngineThatIsRestartedCostsNoItem) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = milliseconds(900)}; };
  Grants(1, 0, 40);
  StartAgent();
  RunFor(seconds(3));
  engine_->LoseAll("restarted");
  RunFor(seconds(30));
  EXPECT_EQ(link_.outcomes.size(), 40U);
  EXPECT_EQ(link_.given_back, 0);
}

TEST_F(AgentTest, ContainersThatAreGoneButHaveNotSaidSoGetNothing) {
  // One item, four warm containers, and all of them end: it must not be tried in each dead one.
  play_.explaining = seconds(1);
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(3)}; };
  Grants(1, 0, 5);
  StartAgent();
  RunFor(seconds(5));
  engine_->LoseAll("restarted");
  RunFor(seconds(30));
  EXPECT_EQ(link_.outcomes.size(), 5U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    EXPECT_EQ(outcomes.back().cause, Cause::kSucceeded) << item;
  }
}

TEST_F(AgentTest, AJobThatCouldNotRunIsTriedAgainWhenItsTimeHasCome) {
  bool away = true;
  play_.open = [&away](const ContainerSpec&) -> Result<void> {
    if (away) return Fail(Code::kUnavailable, "the registry is away");
    return {};
  };
  // The servers have nothing else and give it again and again.
  for (std::uint64_t i = 1; i <= 100; ++i) Grants(i, 0, 4);
  StartAgent();
  RunFor(minutes(2));
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_GE(link_.given_back, 4);
  const auto& uses = link_.last_status().jobs;
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].trouble, "the registry is away");
  away = false;
  RunFor(minutes(3));
  EXPECT_EQ(link_.outcomes.size(), 4U);
  EXPECT_TRUE(link_.troubles.empty());
}

TEST_F(AgentTest, AnImageThatIsSlowToComeDoesNotKeepOtherJobsWaiting) {
  play_.opening = minutes(10);
  Grants(1, 0, 2, {1});
  Grants(2, 4, 2, {2});
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(engine_->containers(), 2U);
}

TEST_F(AgentTest, SaysARefusedSettlementUnderAnotherNumber) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = milliseconds(100)}; };
  Grants(1, 0, 4);
  link_.to_refuse = 1;
  StartAgent();
  RunFor(seconds(2));
  Grants(1, 0, 4);  // as a server gives again what is still owed
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 4U);
  EXPECT_TRUE(link_.syncs.back().known.empty());
  std::set<std::int32_t> seqs;
  for (const SyncRequest& sync : link_.syncs) {
    for (const Settlement& settlement : sync.settlements) seqs.insert(settlement.seq);
  }
  EXPECT_GE(seqs.size(), 2U);
}

TEST_F(AgentTest, BeginsAnewWhenItsSyncsAreRefused) {
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(2));
  link_.refuse_syncs = 1;
  RunFor(seconds(20));
  EXPECT_EQ(link_.joins.size(), 2U);
}

// A session for each would make the servers' tables grow as fast as they can write.
TEST_F(AgentTest, BeginsMoreAndMoreSeldomWhileAllIsRefused) {
  StartAgent();
  link_.refuse_syncs = 1'000'000;
  RunFor(minutes(10));
  EXPECT_GE(link_.joins.size(), 20U);
  EXPECT_LE(link_.joins.size(), 300U);
  link_.refuse_syncs = 0;
  RunFor(seconds(20));
  EXPECT_TRUE(agent_->joined());
}

TEST_F(AgentTest, AnItemWithoutTheFieldOfItsCommandFailsAlone) {
  link_.documents[JobId{1}] = R"({"command":["echo","{item.width}"]})";
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(5));
  ASSERT_EQ(link_.outcomes.size(), 1U);
  EXPECT_EQ(link_.outcomes[0][0].exit, 126);
  EXPECT_NE(logs_.text[0].find("width"), std::string::npos);
}

TEST_F(AgentTest, SyncsSeldomWhenThereIsNothingToSay) {
  StartAgent();
  RunFor(minutes(10));
  EXPECT_LE(link_.syncs.size(), 85U);
  EXPECT_GE(link_.syncs.size(), 55U);
}

TEST_F(AgentTest, ManyShortItemsDoNotBecomeAsManySyncs) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = milliseconds(1)}; };
  for (std::uint64_t i = 1; i <= 50; ++i) Grants(i, 0, 100);
  StartAgent();
  RunFor(seconds(20));
  std::size_t outcomes = 0;
  for (const auto& [item, some] : link_.outcomes) outcomes += some.size();
  EXPECT_TRUE(link_.to_grant.empty());
  EXPECT_LE(link_.syncs.size(), 130U);
}

}  // namespace
}  // namespace tidemill
