// SPDX-License-Identifier: Apache-2.0
// The real init with the program of a loop, and what its agent is told of the items.
#include <map>

#include "init/driven_init.h"

namespace tidemill::init {
namespace {

class LoopInit : public DrivenInit {
 public:
  using DrivenInit::DrivenInit;
  void Load(const std::vector<std::string>& argv, const std::vector<std::string>& env = {}) {
    frame::Run program{.grace_us = 5 * kSecond};
    program.argv.assign(argv.begin(), argv.end());
    program.env.assign(env.begin(), env.end());
    Send(*frame::EncodeProgram(program));
  }
  void LoadProbe(const std::string& batch = "1", const std::vector<std::string>& env = {}) {
    std::vector<std::string> all = {"TIDEMILL_SCRATCH=" + scratch()};
    all.insert(all.end(), env.begin(), env.end());
    Load({kLoopProbe, batch}, all);
  }
  void Item(std::uint64_t number, const std::string& what, Times times = {.grace_us = 5 * kSecond},
            bool alone = false) {
    const std::string json =
        "{\"item\":" + std::to_string(1000 + number) + ",\"do\":\"" + what + "\"}";
    Send(*frame::EncodeItem(number, {.timeout_us = times.timeout_us,
                                     .grace_us = times.grace_us,
                                     .name = 1000 + number,
                                     .alone = alone,
                                     .json = json}));
  }
  // Reads until so many items have ended.
  void TakeEnds(std::size_t count) {
    while (ends.size() < count) {
      const auto got = NextFrame();
      ASSERT_TRUE(got) << "init says no more";
      Keep(*got);
    }
  }
  void AwaitLogOf(std::uint64_t number, const std::string& text) {
    while (logs[number].find(text) == std::string::npos) {
      const auto got = NextFrame();
      ASSERT_TRUE(got) << "init says no more";
      Keep(*got);
    }
  }

  std::map<std::uint64_t, frame::End> ends;
  std::map<std::uint64_t, std::string> logs;
  std::map<std::uint64_t, std::string> notes;

 private:
  void Keep(const frame::Frame& got) {
    if (got.kind == frame::Kind::kLog) logs[got.number] += got.payload;
    if (got.kind == frame::Kind::kProgress) {
      const auto progress = frame::DecodeProgress(got.payload);
      ASSERT_TRUE(progress);
      notes[got.number] = std::to_string(progress->permille) + " " + std::string(progress->note);
    }
    if (got.kind != frame::Kind::kEnd) return;
    const auto end = frame::DecodeEnd(got.payload);
    ASSERT_TRUE(end);
    ASSERT_EQ(ends.count(got.number), 0U) << "a second end of " << got.number;
    ends[got.number] = *end;
  }
};

TEST(LoopMode, HandsOverItemsAndTakesTheirResults) {
  LoopInit init;
  init.LoadProbe("4");
  for (std::uint64_t i = 1; i <= 20; ++i) init.Item(i, i % 5 == 0 ? "fail 3" : "ok");
  init.TakeEnds(20);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const frame::End& end = init.ends[i];
    EXPECT_EQ(end.exit, i % 5 == 0 ? 3 : 0);
    EXPECT_EQ(init.logs[i], i % 5 == 0 ? "it failed\n" : "");
    EXPECT_GT(end.start_ms, 0);
    EXPECT_GT(end.memory_bytes, 0);
    EXPECT_FALSE(end.among_others || end.timed_out || end.stopped || end.skipped);
  }
}

TEST(LoopMode, PassesOnAResultAndRefusesOneThatIsTooLong) {
  LoopInit init;
  init.LoadProbe();
  init.Item(1, "give");
  init.Item(2, "much");
  init.TakeEnds(2);
  EXPECT_EQ(init.ends[1].result, "{\"number\":1001}");
  EXPECT_EQ(init.ends[1].exit, 0);
  // Its program does not know what to do about the answer, and ends holding it.
  EXPECT_EQ(init.ends[2].result, "");
  EXPECT_NE(init.ends[2].exit + init.ends[2].signal, 0);
}

TEST(LoopMode, FailsTheItemThatItsProgramHeldAndStartsItAgain) {
  LoopInit init;
  init.LoadProbe();
  init.Item(1, "ok");
  init.Item(2, "die 7");
  init.Item(3, "kill");
  init.Item(4, "die 0");
  init.Item(5, "ok");
  init.TakeEnds(5);
  EXPECT_EQ(init.ends[1].exit, 0);
  EXPECT_EQ(init.ends[2].exit, 7);
  EXPECT_EQ(init.ends[3].signal, SIGKILL);
  EXPECT_EQ(init.ends[4].exit, 1);  // it did not say that it succeeded
  EXPECT_NE(init.logs[4].find("without a result"), std::string::npos);
  EXPECT_EQ(init.ends[5].exit, 0);
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_FALSE(init.ends[i].among_others);
}

TEST(LoopMode, BlamesNoneOfSeveral) {
  LoopInit init;
  init.LoadProbe("3");
  init.Item(1, "keep");
  init.Item(2, "keep");
  init.Item(3, "die 7");
  init.TakeEnds(3);
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_TRUE(init.ends[i].among_others) << i;
  init.Item(4, "ok");
  init.TakeEnds(4);
}

TEST(LoopMode, BlamesTheFirstThatWaitsForAProgramThatTakesNone) {
  for (const std::string exit : {"5", "0"}) {
    LoopInit init;
    init.LoadProbe("1", {"LOOP_PROBE_DIES=" + exit});
    init.Item(1, "ok");
    init.Item(2, "ok");
    init.TakeEnds(2);
    EXPECT_EQ(init.ends[1].exit, exit == "5" ? 5 : 1);
    EXPECT_EQ(init.ends[2].exit, exit == "5" ? 5 : 1);
    EXPECT_EQ(init.logs[1].substr(0, 13), "dies at once\n");
  }
  LoopInit init;
  init.Load({"/no/such/program"});
  init.Item(1, "ok");
  init.TakeEnds(1);
  EXPECT_EQ(init.ends[1].error, ENOENT);
}

TEST(LoopMode, GivesAnItemThatIsAloneNoCompany) {
  LoopInit init;
  init.LoadProbe("8");
  init.Item(1, "ok");
  init.Item(2, "die 7", {.grace_us = kSecond}, true);
  init.Item(3, "ok");
  init.TakeEnds(3);
  EXPECT_EQ(init.ends[2].exit, 7);
  EXPECT_FALSE(init.ends[2].among_others);
  EXPECT_EQ(init.ends[1].exit + init.ends[3].exit, 0);
}

TEST(LoopMode, EndsAProgramWhoseItemHasHadItsTime) {
  LoopInit init;
  init.LoadProbe("2");
  init.Item(1, "keep");
  init.Item(2, "hang", {.timeout_us = kSecond / 10, .grace_us = 5 * kSecond});
  init.Item(3, "deaf", {.timeout_us = kSecond / 10, .grace_us = kSecond / 10}, true);
  init.Item(4, "ok");
  init.TakeEnds(4);
  EXPECT_TRUE(init.ends[1].among_others);
  EXPECT_TRUE(init.ends[2].timed_out);
  EXPECT_EQ(init.ends[2].signal, SIGTERM);
  EXPECT_TRUE(init.ends[3].timed_out);
  EXPECT_EQ(init.ends[3].signal, SIGKILL);
  EXPECT_EQ(init.ends[4].exit, 0);
}

TEST(LoopMode, BlamesNoneOfABatchThatHasHadItsTime) {
  LoopInit init;
  init.LoadProbe("2");
  init.Item(1, "keep", {.timeout_us = kSecond / 10, .grace_us = 5 * kSecond});
  init.Item(2, "hang", {.timeout_us = kSecond / 10, .grace_us = 5 * kSecond});
  init.TakeEnds(2);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    EXPECT_TRUE(init.ends[i].among_others) << i;
    EXPECT_FALSE(init.ends[i].timed_out) << i;
  }
}

TEST(LoopMode, StopsWhatIsHeldAndWhatWaits) {
  LoopInit init;
  init.LoadProbe("3");
  init.Item(1, "keep");
  init.Item(2, "print here");
  init.Item(3, "hang");
  init.AwaitLogOf(1, "here");  // of the first that is held
  init.Item(4, "ok");
  init.Item(5, "ok");
  init.Stop(4);
  init.Stop(2);
  init.Stop(99);
  init.TakeEnds(5);
  EXPECT_TRUE(init.ends[1].among_others);
  EXPECT_TRUE(init.ends[2].stopped);
  EXPECT_TRUE(init.ends[3].among_others);
  EXPECT_TRUE(init.ends[4].skipped);
  EXPECT_EQ(init.ends[5].exit, 0);
  EXPECT_FALSE(init.ends[5].among_others);
}

TEST(LoopMode, PassesOnHowFarAnItemIs) {
  LoopInit init;
  init.LoadProbe();
  init.Item(1, "progress");
  init.TakeEnds(1);
  EXPECT_EQ(init.notes[1], "500 half");
}

TEST(LoopMode, LeavesNothingOfAProgramThatHasEnded) {
  LoopInit init;
  init.LoadProbe();
  init.Item(1, "leave");
  init.Item(2, "ok");
  init.TakeEnds(2);
  EXPECT_TRUE(std::filesystem::exists(init.scratch() + "/left"));
  init.Item(3, "die 1");
  init.TakeEnds(3);
  EXPECT_FALSE(std::filesystem::exists(init.scratch() + "/left"));
  EXPECT_EQ(Alive(kLoopProbe), 0);
}

TEST(LoopMode, TellsItsProgramThatThereIsNoMoreAndEnds) {
  LoopInit init;
  init.LoadProbe("4");
  for (std::uint64_t i = 1; i <= 9; ++i) init.Item(i, "ok");
  init.Send(frame::EncodeNoMore());
  init.TakeEnds(9);
  EXPECT_EQ(init.AwaitExit(), 0);
  LoopInit idle;
  idle.LoadProbe();
  idle.Send(frame::EncodeNoMore());
  EXPECT_EQ(idle.AwaitExit(), 0);
}

TEST(LoopMode, EndsAProgramThatDoesNotHeedThatThereIsNoMore) {
  LoopInit init;
  frame::Run program{.grace_us = kSecond / 10};
  const std::string script =
      "wget -q -O - --post-data= $TIDEMILL_URL/next > /dev/null;"
      "wget -q -O - --post-data='{\"results\":[{\"item\":7}]}' \"$TIDEMILL_URL/next?wait=0\";"
      "sleep " +
      UniqueSleep();
  program.argv = {kBusybox, "sh", "-c", script};
  init.Send(*frame::EncodeProgram(program));
  init.Send(*frame::EncodeItem(1, {.name = 7, .json = "{\"item\":7}"}));
  init.Send(frame::EncodeNoMore());
  init.TakeEnds(1);
  EXPECT_EQ(init.AwaitExit(), 0);
}

TEST(LoopMode, EndsWhenItsAgentDoesNotKeepToIt) {
  {
    LoopInit init;
    init.Item(1, "ok");  // without a program
    EXPECT_EQ(init.AwaitExit(), 3);
  }
  {
    LoopInit init;
    init.LoadProbe();
    init.LoadProbe();
    EXPECT_EQ(init.AwaitExit(), 3);
  }
  {
    LoopInit init;
    init.LoadProbe();
    init.RunShell(1, "true");
    EXPECT_EQ(init.AwaitExit(), 3);
  }
  LoopInit init;
  init.LoadProbe();
  for (std::uint64_t i = 1; i <= 1025; ++i) init.Item(i, "hang");
  EXPECT_EQ(init.AwaitExit(), 3);
}

}  // namespace
}  // namespace tidemill::init
