// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole contract of Engine, as sentences. A kind of engine runs it with
//
//   INSTANTIATE_TEST_SUITE_P(Fake, EngineTest, testing::Values(EngineMaker(...)));
//
// and, if its items are processes, RealEngineTest of engine_real_contract.h as well.

#include <cerrno>

#include "engine/engine_testing.h"

namespace tidemill {

TEST_P(EngineTest, SaysWhoItIs) {
  EXPECT_FALSE(info_.name.empty());
  EXPECT_EQ(engine().containers(), 0u);
}

TEST_P(EngineTest, RunsInOrderWithTheirExitCodesAndLogs) {
  Open();
  Run(1, Play{.print = "one", .exit = 0});
  Run(2, Play{.print = "two", .exit = 3});
  Run(7, Play{.exit = 255});
  RunUntilEnds(3);
  EXPECT_EQ(Exits(), (std::vector<int>{0, 3, 255}));
  EXPECT_EQ(Numbers(), (std::vector<std::uint64_t>{1, 2, 7}));
  for (const ItemEnd& end : events_.ends) {
    EXPECT_EQ(end.how, ItemEnd::How::kExited);
    EXPECT_GT(end.start_ms, 0);
    EXPECT_GT(end.duration.count(), 0);
    EXPECT_GT(end.memory_bytes, 0);
  }
  EXPECT_EQ(events_.logs[1], "one");
  EXPECT_EQ(events_.logs[2], "two");
  EXPECT_EQ(events_.logs.count(7), 0u);
}

TEST_P(EngineTest, NothingIsCalledFromInside) {
  Open();
  Run(1, Play{});
  container_->Stop(1);
  EXPECT_TRUE(events_.ends.empty());
  RunUntilEnds(1);
}

TEST_P(EngineTest, StopsTheRunThatRunsAndThoseThatWait) {
  Open();
  Run(1, Play{.sleeps = true});
  Run(2, Play{.sleeps = true});
  Run(3, Play{.exit = 4});
  container_->Stop(2);
  container_->Stop(1);
  container_->Stop(99);
  RunUntilEnds(3);
  EXPECT_EQ(Numbers(), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(events_.ends[0].how, ItemEnd::How::kStopped);
  EXPECT_EQ(events_.ends[1].how, ItemEnd::How::kStopped);
  EXPECT_EQ(events_.ends[1].start_ms, 0);
  EXPECT_EQ(events_.ends[2].exit, 4);
  container_->Stop(3);
}

TEST_P(EngineTest, EndsARunWhoseTimeIsOver) {
  Open();
  ItemRun run = ItemOf(1, Play{.sleeps = true});
  run.timeout = std::chrono::milliseconds(100);
  container_->Run(run);
  Run(2, Play{});
  RunUntilEnds(2);
  EXPECT_EQ(events_.ends[0].how, ItemEnd::How::kTimedOut);
  EXPECT_NE(events_.ends[0].exit, 0);
  EXPECT_GE(events_.ends[0].duration, std::chrono::milliseconds(100));
  EXPECT_EQ(events_.ends[1].how, ItemEnd::How::kExited);
}

TEST_P(EngineTest, GivesARunItsSecretFilesAndTheNextOneNone) {
  OpenForSecrets();
  ItemRun run = ItemOf(1, Play{.shows = true});
  run.secret_files = {{"shown", "a secret"}, {"other", "another"}};
  container_->Run(run);
  Run(2, Play{.shows = true});
  run.number = 3;
  run.secret_files = {{"shown", "a third"}};
  container_->Run(run);
  RunUntilEnds(3);
  EXPECT_EQ(events_.logs[1], "a secret");
  EXPECT_EQ(events_.logs[2], "none");
  EXPECT_EQ(events_.logs[3], "a third");
}

TEST_P(EngineTest, StartsNoRunWithSecretFilesInAContainerThatWasNotOpenedForThem) {
  Open();
  ItemRun run = ItemOf(1, Play{.shows = true});
  run.secret_files = {{"shown", "canary"}};
  container_->Run(run);
  Run(2, Play{.shows = true});
  RunUntilEnds(2);
  EXPECT_EQ(events_.ends[0].how, ItemEnd::How::kNotStarted);
  EXPECT_EQ(events_.ends[0].exit, 126);
  EXPECT_EQ(events_.logs[1].find("canary"), std::string::npos);
  EXPECT_EQ(events_.logs[2], "none");
}

TEST_P(EngineTest, RunsAThousandWithoutLosingOne) {
  Open();
  constexpr std::uint64_t kRuns = 1000;
  for (std::uint64_t i = 1; i <= kRuns; ++i) Run(i, Play{.exit = static_cast<int>(i % 2)});
  RunUntilEnds(kRuns);
  for (std::uint64_t i = 1; i <= kRuns; ++i) {
    ASSERT_EQ(events_.ends[i - 1].number, i);
    ASSERT_EQ(events_.ends[i - 1].exit, static_cast<int>(i % 2));
  }
}

TEST_P(EngineTest, KeepsContainersApart) {
  constexpr int kContainers = 4;
  std::vector<std::unique_ptr<RecordedEvents>> events;
  std::vector<std::unique_ptr<Container>> containers;
  for (int i = 0; i < kContainers; ++i) {
    events.push_back(std::make_unique<RecordedEvents>());
    engine().Open(holder().Spec(), *events.back(), [&](auto opened) {
      ASSERT_TRUE(opened) << opened.error().reason;
      containers.push_back(*std::move(opened));
    });
  }
  EXPECT_EQ(engine().containers(), static_cast<std::size_t>(kContainers));
  holder().RunUntil([&] { return containers.size() == kContainers; });
  // The first that asked need not be the first that was served: tell them apart by their runs.
  for (int i = 0; i < kContainers; ++i) {
    containers[i]->Run(ItemOf(10 + i, Play{.print = std::to_string(i)}));
  }
  const auto all_ended = [&] {
    return std::all_of(events.begin(), events.end(), [](auto& each) { return each->ends.size(); });
  };
  holder().RunUntil(all_ended);
  std::set<std::uint64_t> numbers;
  for (const auto& each : events) {
    ASSERT_EQ(each->ends.size(), 1u);
    const std::uint64_t number = each->ends[0].number;
    numbers.insert(number);
    EXPECT_EQ(each->logs[number], std::to_string(number - 10));
  }
  EXPECT_EQ(numbers.size(), static_cast<std::size_t>(kContainers));
  containers.clear();
  RunUntilNothingIsLeft();
}

TEST_P(EngineTest, IsRidOfAContainerThatIsDestroyedWhileItRuns) {
  Open();
  Run(1, Play{.sleeps = true});
  Run(2, Play{});
  container_.reset();
  RunUntilNothingIsLeft();
  EXPECT_TRUE(events_.ends.empty());
  EXPECT_EQ(events_.gone, "");
}

TEST_P(EngineTest, AContainerMayBeDestroyedInTheEndOfARun) {
  Open();
  events_.on_end = [this] { container_.reset(); };
  Run(1, Play{});
  Run(2, Play{});
  RunUntilEnds(1);
  RunUntilNothingIsLeft();
  EXPECT_EQ(events_.ends.size(), 1u);
}

TEST_P(EngineTest, AStreamGetsItsInputAndTellsItsOutputAndItsEnd) {
  Open();
  Run(1, Play{.sleeps = true});
  OpenEcho(5, 7);
  OpenEcho(6);
  container_->SendToStream(5, "one ");
  container_->SendToStream(6, "other");
  RunUntilOutput(5, "one ");
  container_->SendToStream(5, "two");
  RunUntilOutput(5, "one two");
  container_->SendToStream(5, "");
  EXPECT_TRUE(events_.stream_ends.empty()) << "told from inside";
  EXPECT_EQ(EndOfStream(5), (StreamEnd{.exit = 7}));
  RunUntilOutput(6, "other");
  EXPECT_EQ(events_.stream_ends.count(6), 0U);
  EXPECT_TRUE(events_.ends.empty());
  container_->SendToStream(5, "late");
  container_->CloseStream(5);
  container_->CloseStream(6);
  container_->SendToStream(6, "late");
  EndOfStream(6);
  EXPECT_EQ(events_.output[6], "other");
  container_->Stop(1);
  RunUntilEnds(1);
}

TEST_P(EngineTest, AStreamEndsWithTheItemBesideItAndNotWithALaterOne) {
  Open();
  Run(1, Play{.sleeps = true});
  Run(2, Play{.sleeps = true});
  OpenEcho(5, 7);
  container_->SendToStream(5, "x");
  RunUntilOutput(5, "x");
  container_->Stop(1);
  EXPECT_TRUE(EndOfStream(5).with_item);
  RunUntilEnds(1);
  container_->Stop(2);
  RunUntilEnds(2);
}

TEST_P(EngineTest, AStreamWithoutAnItemEndsAtOnceAndLater) {
  Open();
  OpenEcho(5);
  container_->SendToStream(5, "x");
  EXPECT_TRUE(events_.stream_ends.empty()) << "told from inside";
  EXPECT_EQ(EndOfStream(5), (StreamEnd{.error = ESRCH}));
  Run(1, Play{});
  RunUntilEnds(1);
  OpenEcho(6);
  EXPECT_EQ(EndOfStream(6), (StreamEnd{.error = ESRCH}));
  EXPECT_TRUE(events_.output.empty());
}

TEST_P(EngineTest, AContainerMayBeDestroyedWithAStreamInIt) {
  Open();
  Run(1, Play{.sleeps = true});
  OpenEcho(5);
  container_->SendToStream(5, "x");
  RunUntilOutput(5, "x");
  container_->SendToStream(5, "y");
  container_.reset();
  RunUntilNothingIsLeft();
  EXPECT_TRUE(events_.stream_ends.empty());
}

// What it asserts: none of these calls crashes, and the sanitizers find nothing.
TEST_P(EngineTest, ItsContainersMayOutliveIt) {
  Open();
  Run(1, Play{.sleeps = true});
  holder().DestroyEngine();
  Run(2, Play{});
  OpenEcho(5);
  container_->SendToStream(5, "x");
  container_->CloseStream(5);
  container_->Stop(1);
  container_.reset();
}

}  // namespace tidemill
