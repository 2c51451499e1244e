// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine promises of a loop, if its items are real. The program is tests/images/loop_probe,
// which does with an item what the item says. Only one .cc file of a test program may include it.

#include <string>
#include <vector>

#include "engine/engine_real_testing.h"

namespace tidemill {

class LoopEngineTest : public RealEngineTest {
 protected:
  using How = ItemEnd::How;

  void OpenLoop(const std::string& batch = "1", const std::vector<std::string>& env = {}) {
    auto opened = TryOpen(holder().LoopSpec());
    ASSERT_TRUE(opened) << opened.error().reason;
    container_ = *std::move(opened);
    ItemRun program;
    program.entrypoint = std::vector<std::string>{holder().LoopProbe(), batch, "60000", mark_};
    program.env = env;
    program.grace = std::chrono::seconds(5);
    container_->Load(program);
  }
  static ItemRun Take(std::uint64_t number, const std::string& what) {
    ItemRun run;
    run.number = number;
    run.grace = std::chrono::seconds(5);
    run.item = "{\"item\":" + std::to_string(10'000 + number) + ",\"do\":\"" + what + "\"}";
    return run;
  }
  void Give(std::uint64_t number, const std::string& what) { container_->Run(Take(number, what)); }
  // Of the run with this number.
  ItemEnd EndOf(std::uint64_t number) {
    for (const ItemEnd& end : events_.ends) {
      if (end.number == number) return end;
    }
    ADD_FAILURE() << "no end of " << number;
    return {};
  }
};

TEST_P(LoopEngineTest, GivesBatchesToAProgramThatStays) {
  OpenLoop("7");
  constexpr std::uint64_t kItems = 3000;
  for (std::uint64_t i = 1; i <= kItems; ++i) Give(i, i % 10 == 0 ? "fail 3" : "ok");
  RunUntilEnds(kItems);
  std::set<std::uint64_t> numbers;
  for (const ItemEnd& end : events_.ends) {
    numbers.insert(end.number);
    ASSERT_EQ(end.how, How::kExited);
    ASSERT_EQ(end.exit, end.number % 10 == 0 ? 3 : 0);
    ASSERT_GT(end.start_ms, 0);
    ASSERT_GT(end.memory_bytes, 0);
  }
  EXPECT_EQ(numbers.size(), kItems);
  EXPECT_EQ(LogOf(10), "it failed\n");
  EXPECT_EQ(events_.logs.size(), kItems / 10);
}

TEST_P(LoopEngineTest, PassesOnWhatItsProgramSendsBack) {
  OpenLoop("2");
  Give(1, "give");
  Give(2, "ok");
  Give(3, "give");
  RunUntilEnds(3);
  EXPECT_EQ(EndOf(1).result, "{\"number\":10001}");
  EXPECT_EQ(EndOf(2).result, "");
  EXPECT_EQ(EndOf(3).result, "{\"number\":10003}");
}

TEST_P(LoopEngineTest, FailsTheItemThatADyingProgramHeldAndStartsItAgain) {
  OpenLoop();
  Give(1, "ok");
  Give(2, "die 7");
  Give(3, "kill");
  Give(4, "die 0");
  Give(5, "print hello");
  RunUntilEnds(5);
  EXPECT_EQ(EndOf(1).exit, 0);
  EXPECT_EQ(EndOf(2).exit, 7);
  EXPECT_EQ(EndOf(2).how, How::kExited);
  EXPECT_EQ(EndOf(3).how, How::kSignalled);
  EXPECT_EQ(EndOf(3).exit, 137);
  EXPECT_EQ(EndOf(4).exit, 1);
  EXPECT_EQ(EndOf(5).exit, 0);
  EXPECT_EQ(LogOf(5), "hello\n");
}

TEST_P(LoopEngineTest, BlamesNoneOfThoseThatWereHeldTogether) {
  OpenLoop("2");
  Give(1, "keep");
  Give(2, "die 7");
  RunUntilEnds(2);
  EXPECT_EQ(EndOf(1).how, How::kAmongOthers);
  EXPECT_EQ(EndOf(2).how, How::kAmongOthers);
  // Again, alone, as its caller does it.
  for (const std::uint64_t number : {3, 4}) {
    ItemRun run = Take(number, number == 3 ? "ok" : "die 7");
    run.alone = true;
    container_->Run(run);
  }
  Give(5, "ok");
  RunUntilEnds(5);
  EXPECT_EQ(EndOf(3).exit, 0);
  EXPECT_EQ(EndOf(4).exit, 7);
  EXPECT_EQ(EndOf(4).how, How::kExited);
  EXPECT_EQ(EndOf(5).exit, 0);
}

TEST_P(LoopEngineTest, FailsOneItemEachTimeThatItsProgramTakesNone) {
  OpenLoop("1", {"LOOP_PROBE_DIES=5"});
  Give(1, "ok");
  Give(2, "ok");
  RunUntilEnds(2);
  EXPECT_EQ(Exits(), (std::vector<int>{5, 5}));
  EXPECT_EQ(LogOf(1), "dies at once\n");
}

TEST_P(LoopEngineTest, SaysWhatCannotBeRun) {
  auto opened = TryOpen(holder().LoopSpec());
  ASSERT_TRUE(opened) << opened.error().reason;
  container_ = *std::move(opened);
  ItemRun program;
  program.entrypoint = std::vector<std::string>{"/no/such/program"};
  container_->Load(program);
  Give(1, "ok");
  ItemRun wrong = Take(2, "ok");
  wrong.item = "no JSON";
  container_->Run(wrong);
  RunUntilEnds(2);
  EXPECT_EQ(EndOf(1).how, How::kNotStarted);
  EXPECT_EQ(EndOf(1).exit, 127);
  EXPECT_EQ(LogOf(1), "tidemill: cannot run '/no/such/program': No such file or directory\n");
  EXPECT_EQ(EndOf(2).how, How::kNotStarted);
  EXPECT_NE(LogOf(2).find("no JSON object"), std::string::npos);
}

TEST_P(LoopEngineTest, EndsAnItemWhoseTimeIsOver) {
  OpenLoop("2");
  Give(1, "keep");
  ItemRun run = Take(2, "deaf");
  run.timeout = std::chrono::milliseconds(100);
  run.grace = std::chrono::milliseconds(100);
  container_->Run(run);
  Give(3, "ok");
  RunUntilEnds(3);
  EXPECT_EQ(EndOf(1).how, How::kAmongOthers);
  EXPECT_EQ(EndOf(2).how, How::kTimedOut);
  EXPECT_EQ(EndOf(2).exit, 137);
  EXPECT_EQ(EndOf(3).exit, 0);
}

TEST_P(LoopEngineTest, StopsWhatIsHeldAndWhatWaits) {
  OpenLoop();
  Give(1, "hang");
  RunUntilMarked();
  Give(2, "ok");
  Give(3, "ok");
  container_->Stop(2);
  RunUntilEnds(1);
  EXPECT_EQ(EndOf(2).how, How::kStopped);
  EXPECT_EQ(EndOf(2).start_ms, 0);
  container_->Stop(1);
  RunUntilEnds(3);
  EXPECT_EQ(EndOf(1).how, How::kStopped);
  EXPECT_EQ(EndOf(3).exit, 0);
}

TEST_P(LoopEngineTest, PassesOnHowFarAnItemIs) {
  OpenLoop();
  Give(1, "progress");
  RunUntilEnds(1);
  EXPECT_EQ(events_.progress[1], "500 half");
}

TEST_P(LoopEngineTest, LeavesNoProcessOfAProgramThatHasEnded) {
  OpenLoop();
  Give(1, "leave");
  Give(2, "die 1");
  Give(3, "ok");
  RunUntilEnds(3);
  EXPECT_EQ(Marked().size(), 1U);
}

TEST_P(LoopEngineTest, EndsByItselfWhenThereIsNoMore) {
  OpenLoop("3");
  for (std::uint64_t i = 1; i <= 10; ++i) Give(i, "ok");
  container_->NoMore();
  holder().RunUntil([&] { return !events_.gone.empty(); });
  EXPECT_EQ(events_.ends.size(), 10U);
  RunUntilNoneIsMarked();
  RunUntilNothingIsLeft();
}

TEST_P(LoopEngineTest, HasItsSecretFilesForAsLongAsItsProgramLives) {
  ContainerSpec spec = holder().LoopSpec();
  spec.secret_files = true;
  auto opened = TryOpen(spec);
  ASSERT_TRUE(opened) << opened.error().reason;
  container_ = *std::move(opened);
  ItemRun program;
  program.entrypoint = std::vector<std::string>{
      "/bin/sh", "-c", "cat $TIDEMILL_SECRETS/a; exec " + holder().LoopProbe()};
  program.secret_files = {{"a", "a secret\n"}};
  container_->Load(program);
  Give(1, "ok");
  Give(2, "die 3");
  Give(3, "ok");
  RunUntilEnds(3);
  EXPECT_EQ(LogOf(1), "a secret\n");
  EXPECT_EQ(LogOf(2), "");
  EXPECT_EQ(LogOf(3), "a secret\n");
}

}  // namespace tidemill
