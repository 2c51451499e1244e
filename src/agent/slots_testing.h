// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of slots: slots on a virtual clock, with containers that do what the test says.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent_testing.h"
#include "agent/hand_engine.h"
#include "agent/image_pins.h"
#include "agent/slots.h"
#include "base/virtual_loop.h"

namespace tidemill {

struct Told : SlotEvents {
  void OnItemLog(const Attempt& attempt, std::string_view bytes) override {
    logs.push_back(std::to_string(attempt.item) + ":" + std::string(bytes));
  }
  void OnItemProgress(const Attempt&, std::int32_t, std::string_view) override { ++progress; }
  void OnItemEnd(const Attempt& attempt, const ItemEnd&, StopWhy why) override {
    ends.push_back(attempt.item);
    whys.push_back(why);
  }
  void OnItemsLost(const std::vector<Attempt>& attempts, Duration, const std::string&) override {
    lost = attempts;
  }
  void OnOpenFailed(JobId, const Error&) override {}
  void OnOpened(JobId) override {}
  void OnRoom() override {}

  std::vector<std::string> logs;
  int progress = 0;
  std::vector<std::int64_t> ends;
  std::vector<StopWhy> whys;
  std::vector<Attempt> lost;
};

class HandSlotsTest : public ::testing::Test {
 protected:
  HandSlotsTest() {
    slots_.Start();
    RunFor();
  }

  void RunFor(Duration time = std::chrono::milliseconds(1)) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  void Want(bool loop, bool once, int count) {
    Slots::Wish wish;
    wish.spec.job = kNeed.job;
    wish.spec.loop = loop;
    wish.once = once;
    wish.program.command = {"serve"};
    wish.timeout = timeout_;
    wish.grace = std::chrono::seconds(5);
    for (int i = 0; i < count; ++i) {
      slots_.Want(
          kNeed.job, {1000, 0}, count, [&wish] { return wish; }, [](const Need&) { return true; });
      RunFor();
    }
  }
  void Run(std::int64_t item, bool alone = false) {
    Attempt attempt;
    attempt.item = item;
    attempt.key.offset = static_cast<int>(item);
    attempt.alone = alone;
    slots_.Run(attempt, kNeed, kDepth, {});
  }
  static constexpr Need kNeed{{1}, 0};
  static constexpr int kDepth = 4;
  static AgentOptions Options() {
    AgentOptions options;
    options.shape = {2000, 0};
    return options;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  const AgentOptions options_ = Options();
  HandEngine engine_{loop_};
  TestLink link_{loop_};
  TestLog log_;
  TestLogs logs_;
  TestMemory memory_;
  AgentDeps deps_{loop_, link_, engine_, random_, log_, logs_, memory_};
  Duration timeout_{};
  Told told_;
  SessionPass pass_;
  ImagePins pins_{deps_, pass_};
  Slots slots_{deps_, options_, pins_, told_};
};

}  // namespace tidemill
