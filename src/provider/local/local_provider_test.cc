// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_provider.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/beside_test.h"
#include "provider/local/launch.h"
#include "provider/local/local_testing.h"
#include "provider/local/pool_folder.h"

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

INSTANTIATE_TEST_SUITE_P(Script, ProviderTest, testing::Values(ProviderMaker([] {
                           return std::make_unique<LocalWorld>(kGoodAgent);
                         })));
#ifdef TIDEMILL_AGENT
INSTANTIATE_TEST_SUITE_P(Agent, ProviderTest, testing::Values(ProviderMaker([] {
                           auto world =
                               std::make_unique<LocalWorld>("", BesideTest(TIDEMILL_AGENT));
                           world->options.args = {"--engine", "process"};
                           world->Restart();
                           return world;
                         })));
#endif

class LocalProviderTest : public ::testing::Test {
 protected:
  LocalProviderTest() { Use(kGoodAgent); }

  void Use(const char* script) {
    world_.reset();
    world_ = std::make_unique<LocalWorld>(script);
    pool_.pool.project = "films";
    pool_.pool.name = "spot";
    pool_.machines.shape = {1500, 256LL << 20};
  }
  Result<Refused> Make(const std::vector<std::string>& names) {
    std::vector<MachineOrder> orders;
    for (const std::string& name : names) orders.push_back({name, "token of " + name});
    std::optional<Result<Refused>> answer;
    world_->provider().Make(pool_, orders, [&](Result<Refused> given) { answer = given; });
    world_->RunUntil([&] { return answer.has_value(); });
    return *answer;
  }
  // Made, and its script has begun.
  void MakeOne(const std::string& name) {
    const auto made = Make({name});
    ASSERT_TRUE(made) << made.error().reason;
    ASSERT_EQ(made->words, "");
    world_->WaitForLog(pool_, name, "begin");
  }
  Result<std::vector<ListedAt>> List(Provider& provider) {
    std::optional<Result<std::vector<ListedAt>>> answer;
    provider.List(pool_, [&](auto given) { answer = given; });
    world_->RunUntil([&] { return answer.has_value(); });
    return *answer;
  }
  std::vector<ListedAt> List() { return List(world_->provider()).value(); }
  void End(const std::string& name) {
    bool is_done = false;
    world_->provider().End(pool_, {name},
                           [&](const Result<void>& done) { is_done = done.has_value(); });
    world_->RunUntil([&] { return is_done; });
  }
  void ListUntilEnded() {
    world_->RunUntil([&] { return List().at(0).ended.has_value(); });
  }
  ProcessMark ProcessOf(const std::string& name) {
    return world_->FolderOf(pool_, name).Read()->process;
  }

  std::unique_ptr<LocalWorld> world_;
  PoolSettings pool_;
};

TEST_F(LocalProviderTest, AnAgentGetsItsFlagsAndNothingElse) {
  setenv("TIDEMILL_TEST_SECRET", "of the server", 1);
  Use("#!/bin/sh\nenv\ncat \"$4\" \"$6\"\nstat -c '%a %n' join.token\necho begin \"$@\"\nsleep "
      "60\n");
  world_->options.servers = {"http://127.0.0.1:1"};
  world_->options.ca = "/etc/ca.pem";
  world_->options.args = {"--cache", "1GiB"};
  world_->Restart();
  pool_.machines.options = R"({"engine":"process","args":["--files","/data"]})";
  MakeOne("spot-1");
  const MachineFolder folder = world_->FolderOf(pool_, "spot-1");
  const std::string log = ReadFile(folder.log());
  const std::string path = folder.path().string();
  EXPECT_NE(log.find("begin --server http://127.0.0.1:1 --ca /etc/ca.pem --state " + path +
                     "/state --join-token-file " + path +
                     "/join.token --machine spot-1 --cpus 1.500 --memory 268435456 "
                     "--engine process --no-cdi --cache 1GiB --files /data\n"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("600 join.token\n"), std::string::npos) << log;
  EXPECT_EQ(log.find("of the server"), std::string::npos) << log;
  EXPECT_EQ(ReadFile(folder.token()), "token of spot-1\n");
  unsetenv("TIDEMILL_TEST_SECRET");
}

TEST_F(LocalProviderTest, AnAgentIsNobodysChildAndHasASessionOfItsOwn) {
  MakeOne("spot-1");
  const ProcessMark process = ProcessOf("spot-1");
  EXPECT_TRUE(Lives(process));
  EXPECT_EQ(getsid(process.pid), process.pid);
  EXPECT_EQ(getpgid(process.pid), process.pid);
  EXPECT_EQ(waitpid(process.pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(LocalProviderTest, AnAgentHoldsNoDescriptorOfTheServer) {
  const Fd open_one(open("/dev/null", O_RDONLY));  // not close-on-exec
  Use("#!/bin/sh\nls -l /proc/$$/fd\necho begin\nsleep 60\n");
  MakeOne("spot-1");
  const std::string log = ReadFile(world_->FolderOf(pool_, "spot-1").log());
  EXPECT_EQ(log.find(".lock"), std::string::npos) << log;
  EXPECT_EQ(log.find("socket"), std::string::npos) << log;
  const auto to_nothing = [&] {
    int count = 0;
    for (auto at = log.find("/dev/null"); at != log.npos; at = log.find("/dev/null", at + 1))
      ++count;
    return count;
  }();
  EXPECT_EQ(to_nothing, 1) << log;
}

// Both have their own descriptors of the lock, as two processes would.
TEST_F(LocalProviderTest, TwoWhoMakeTheSameAtOnceMakeEachOnce) {
  const auto other = world_->Another();
  std::vector<MachineOrder> orders;
  for (int i = 1; i <= 8; ++i) orders.push_back({"spot-" + std::to_string(i), "token"});
  int answers = 0;
  for (int i = 0; i < 2; ++i) {
    for (Provider* provider : {&world_->provider(), static_cast<Provider*>(other.get())}) {
      provider->Make(pool_, orders, [&](const Result<Refused>& made) {
        ASSERT_TRUE(made) << made.error().reason;
        EXPECT_EQ(made->words, "");
        ++answers;
      });
    }
  }
  world_->RunUntil([&] { return answers == 4; });
  EXPECT_EQ(List().size(), 8U);
  for (const MachineOrder& order : orders) {
    world_->WaitForLog(pool_, order.name, "begin");
    const std::string log = ReadFile(world_->FolderOf(pool_, order.name).log());
    EXPECT_EQ(log.find("begin"), log.rfind("begin")) << log;
  }
}

// Dies with -9 as soon as it has made one.
TEST_F(LocalProviderTest, AMachineOutlivesAServerThatIsKilled) {
  world_->EndThreads();
  const pid_t server = fork();
  if (server == 0) {
    auto folder = PoolFolder::Open(world_->options, pool_, true);
    if (folder) static_cast<void>((*folder)->Make(pool_, {{"spot-1", "token"}}));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(server, &status, 0), server);
  ASSERT_TRUE(WIFSIGNALED(status));
  world_->Restart();
  world_->WaitForLog(pool_, "spot-1", "begin");
  ASSERT_EQ(List().size(), 1U);
  EXPECT_FALSE(List()[0].ended);
  End("spot-1");
  ListUntilEnded();
}

TEST_F(LocalProviderTest, OneThatWasKilledHasOneEndForAllAndOneLineInTheBill) {
  MakeOne("spot-1");
  MakeOne("spot-2");
  const auto other = world_->Another();
  world_->Kill(pool_, "spot-1");
  int answers = 0;
  for (int i = 0; i < 10; ++i) {
    for (Provider* provider : {&world_->provider(), static_cast<Provider*>(other.get())}) {
      provider->List(pool_, [&](const auto& listed) {
        EXPECT_TRUE(listed);
        ++answers;
      });
    }
  }
  world_->RunUntil([&] { return answers == 20; });
  ListUntilEnded();
  const auto first = List();
  world_->Pass(minutes(1));
  const auto second = List(*other).value();
  ASSERT_EQ(first.size(), 2U);
  ASSERT_EQ(second.size(), 2U);
  ASSERT_TRUE(first[0].ended);
  EXPECT_EQ(first[0].ended, second[0].ended);
  EXPECT_FALSE(second[1].ended);
  const std::vector<std::string> bill = world_->BillLines();
  ASSERT_EQ(bill.size(), 1U);
  EXPECT_EQ(bill[0],
            "films spot spot-1 " + MicrosText(first[0].since) + " " + MicrosText(*first[0].ended));
}

// Its number is another's by now, who lives.
TEST_F(LocalProviderTest, ANumberThatIsAnothersIsNotBelieved) {
  MakeOne("spot-1");
  MakeOne("spot-2");
  const ProcessMark stranger = ProcessOf("spot-2");
  const auto record = world_->FolderOf(pool_, "spot-1").Read();
  KillGroup(record->process);
  const auto mark = [&](std::uint64_t start, const std::string& boot) {
    return WriteWhole(world_->FolderOf(pool_, "spot-1").made(),
                      MicrosText(record->since) + " " + std::to_string(stranger.pid) + " " +
                          std::to_string(start) + " " + boot + "\n");
  };
  ASSERT_TRUE(mark(stranger.start - 1, stranger.boot));
  const ProcessMark taken = ProcessOf("spot-1");
  EXPECT_FALSE(Lives(taken));
  EXPECT_FALSE(SendSignal(taken, SIGKILL));
  KillGroup(taken);
  ASSERT_TRUE(mark(stranger.start, "another-life"));
  EXPECT_FALSE(SendSignal(ProcessOf("spot-1"), SIGKILL));
  End("spot-1");
  const auto listed = List();
  EXPECT_TRUE(listed.at(0).ended);
  EXPECT_FALSE(listed.at(1).ended);
  EXPECT_TRUE(Lives(stranger));
  EXPECT_EQ(ReadFile(world_->FolderOf(pool_, "spot-2").log()).find("term"), std::string::npos);
}

TEST_F(LocalProviderTest, AnAgentIsAskedOnceToEnd) {
  Use(kStubbornAgent);
  MakeOne("spot-1");
  End("spot-1");
  world_->WaitForLog(pool_, "spot-1", "term");
  End("spot-1");
  world_->Restart();
  End("spot-1");
  ASSERT_TRUE(SendSignal(ProcessOf("spot-1"), SIGWINCH));
  world_->WaitForLog(pool_, "spot-1", "winch");
  const std::string log = ReadFile(world_->FolderOf(pool_, "spot-1").log());
  EXPECT_EQ(log.find("term"), log.rfind("term")) << log;
  EXPECT_FALSE(List().at(0).ended);
}

TEST_F(LocalProviderTest, OneThatDoesNotGoIsKilledWithItsGroupAfterTheLimit) {
  Use(kStubbornAgent);
  MakeOne("spot-1");
  const ProcessMark process = ProcessOf("spot-1");
  End("spot-1");
  world_->WaitForLog(pool_, "spot-1", "term");
  world_->Restart();  // whoever asked is gone
  world_->Pass(world_->options.end_limit - seconds(5));
  EXPECT_FALSE(List().at(0).ended);
  EXPECT_TRUE(Lives(process));
  world_->Pass(seconds(10));
  ListUntilEnded();
  EXPECT_FALSE(Lives(process));
  EXPECT_EQ(world_->BillLines().size(), 1U);
  world_->RunUntil([&] { return kill(-process.pid, 0) != 0 && errno == ESRCH; });
}

TEST_F(LocalProviderTest, SaysWhatItsCapacityIs) {
  pool_.machines.options = R"({"capacity":1})";
  const auto made = Make({"spot-1", "spot-2"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->names, Names{"spot-2"});
  EXPECT_EQ(made->words, "local capacity is 1");
}

TEST_F(LocalProviderTest, RefusesOptionsThatItDoesNotKnow) {
  const auto words = [&](const char* options) {
    pool_.machines.options = options;
    const auto made = Make({"spot-1", "spot-2"});
    EXPECT_TRUE(made);
    EXPECT_EQ(made->names, (Names{"spot-1", "spot-2"}));
    return made->words;
  };
  EXPECT_NE(words(R"({"engin":"process"})").find("engin"), std::string::npos);
  EXPECT_EQ(words(R"({"engine":"vm"})"), "options.engine: must be docker or process");
  EXPECT_EQ(words(R"({"args":[7]})"), "options.args: must be strings");
  EXPECT_NE(words("{"), "");
  EXPECT_TRUE(List().empty());
  EXPECT_FALSE(fs::exists(world_->FolderOf(pool_, "spot-1").path()));
}

TEST_F(LocalProviderTest, AnAgentThatCannotBeStartedIsRefusedAndLeavesNothing) {
  world_->options.agent_program = "/no/such/agent";
  world_->Restart();
  const auto made = Make({"spot-1"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->names, Names{"spot-1"});
  EXPECT_EQ(made->words, "cannot start '/no/such/agent': No such file or directory");
  EXPECT_TRUE(List().empty());
  EXPECT_FALSE(fs::exists(world_->FolderOf(pool_, "spot-1").path()));
  EXPECT_TRUE(world_->BillLines().empty());
}

// Also if whoever launches it is gone by then, and removes nothing.
TEST_F(LocalProviderTest, WhatDidNotBeginHasNoMark) {
  fs::create_directories(world_->options.folder);
  LaunchPlan plan;
  plan.argv = {"/no/such/agent"};
  plan.folder = world_->options.folder;
  plan.log = plan.folder / "log";
  plan.mark = plan.folder / "mark";
  const auto launched = Launch(plan);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, Code::kUnavailable);
  EXPECT_FALSE(fs::exists(plan.mark));
}

TEST_F(LocalProviderTest, NamesThatFitInNoPathAreRefused) {
  const auto made = Make({"../spot"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->names, Names{"../spot"});
  pool_.pool.project = "..";
  EXPECT_EQ(Make({"spot-1"}).error().code, Code::kInvalid);
  pool_.pool.project = "bill";
  EXPECT_EQ(Make({"spot-1"}).error().code, Code::kInvalid);
}

TEST_F(LocalProviderTest, TheFolderOfAnEndedOneGoesAfterAnHourAndItsBillStays) {
  MakeOne("spot-1");
  const fs::path folder = world_->FolderOf(pool_, "spot-1").path();
  world_->Kill(pool_, "spot-1");
  ListUntilEnded();
  EXPECT_FALSE(fs::exists(folder / "join.token"));
  EXPECT_TRUE(fs::exists(folder / "agent.log"));
  world_->Pass(minutes(61));
  EXPECT_TRUE(List().empty());
  EXPECT_FALSE(fs::exists(folder));
  for (const auto& entry : fs::directory_iterator(folder.parent_path())) {
    EXPECT_EQ(entry.path().filename(), ".lock");
  }
  EXPECT_EQ(world_->BillLines().size(), 1U);
}

// Whoever wrote the end died before the bill was written, or before that was noted.
TEST_F(LocalProviderTest, AnEndIsBilledOnceWhereverItsWriterDied) {
  MakeOne("spot-1");
  world_->Kill(pool_, "spot-1");
  ListUntilEnded();
  const auto bill = world_->BillLines();
  ASSERT_EQ(bill.size(), 1U);
  const fs::path billed = world_->FolderOf(pool_, "spot-1").path() / "billed";
  fs::remove(billed);
  List();
  EXPECT_EQ(world_->BillLines(), bill);
  fs::remove(billed);
  fs::remove(world_->options.folder / "bill");
  List();
  EXPECT_EQ(world_->BillLines(), bill);
}

TEST_F(LocalProviderTest, ALockThatIsNotGivenUpIsAnAnswer) {
  MakeOne("spot-1");
  const fs::path lock = world_->FolderOf(pool_, "spot-1").path().parent_path() / ".lock";
  const Fd held(open(lock.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  std::optional<Result<std::vector<ListedAt>>> listed;
  world_->loop.StopClock();
  world_->provider().List(pool_, [&](auto got) { listed = std::move(got); });
  world_->loop.Skip(world_->options.lock_limit - Duration(1));
  RunWhatIsReady(world_->loop);
  EXPECT_FALSE(listed);
  // The next try is the last.
  world_->loop.Skip(std::chrono::seconds(1));
  world_->RunUntil([&] { return listed.has_value(); });
  ASSERT_FALSE(*listed);
  EXPECT_EQ(listed->error().code, Code::kUnavailable);
}

TEST_F(LocalProviderTest, WhatIsUnderWayIsDoneButNotAnsweredWhenItIsDestroyed) {
  bool answered = false;
  world_->provider().Make(pool_, {{"spot-1", "token"}},
                          [&](const Result<Refused>&) { answered = true; });
  world_->Restart();
  world_->WaitForLog(pool_, "spot-1", "begin");
  EXPECT_EQ(List().size(), 1U);
  EXPECT_FALSE(answered);
}

#ifdef TIDEMILL_AGENT
// It has come up, takes its flags, and says goodbye by itself when it is asked to.
TEST_F(LocalProviderTest, ARealAgentIsGivenTheTimeToLeave) {
  world_ = std::make_unique<LocalWorld>("", BesideTest(TIDEMILL_AGENT));
  pool_.machines.options = R"({"engine":"process"})";
  std::optional<Result<Refused>> made;
  world_->provider().Make(pool_, {{"spot-1", std::string(kJoinPrefix) + std::string(64, 'a')}},
                          [&](Result<Refused> given) { made = given; });
  world_->RunUntil([&] { return made.has_value(); });
  ASSERT_TRUE(*made);
  world_->WaitForLog(pool_, "spot-1", "agent.cannot_join");
  EXPECT_FALSE(List().at(0).ended);
  End("spot-1");
  ListUntilEnded();
  const std::string log = ReadFile(world_->FolderOf(pool_, "spot-1").log());
  EXPECT_NE(log.find("agent.stopped"), std::string::npos) << log;
}
#endif

TEST(ProcessMark, IsReadBehindAnyName) {
  const std::string rest =
      " S 1 7 7 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 987654 1000000 100 18446744073709551615";
  EXPECT_EQ(ParseStat("7 (sh)" + rest)->start, 987654U);
  EXPECT_EQ(ParseStat("7 (a) Z (b c))" + rest)->start, 987654U);
  EXPECT_EQ(ParseStat("7 (a) Z (b c))" + rest)->state, 'S');
  EXPECT_FALSE(ParseStat(""));
  EXPECT_FALSE(ParseStat("7 (sh)"));
  EXPECT_FALSE(ParseStat("7 (sh) S 1 7"));
}

}  // namespace
}  // namespace tidemill
