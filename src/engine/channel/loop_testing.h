// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of engines that are on a real loop.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_testing.h"
#include "net/asio_loop.h"

namespace tidemill {

class LoopRunner {
 public:
  AsioLoop& loop() { return loop_; }

  void RunUntil(const std::function<bool()>& is_true) {
    const TimerId hangs = loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
    TimerId again = TimerId::kNone;
    std::function<void()> look = [&] {
      if (is_true()) return loop_.Stop();
      again = loop_.After(std::chrono::milliseconds(2), look);
    };
    look();
    loop_.Run();
    loop_.Cancel(hangs);
    loop_.Cancel(again);
  }

 private:
  AsioLoop loop_;
};

// An engine whose items are processes with a shell.
class LoopHolder : public EngineHolder {
 public:
  void RunUntil(const std::function<bool()>& is_true) override { runner_.RunUntil(is_true); }
  std::vector<std::string> Command(const Play& play) const override {
    if (play.sleeps) return {"/bin/sleep", "1000"};
    if (play.shows) {
      return {"/bin/sh", "-c", "cat $TIDEMILL_SECRETS/shown 2>/dev/null || printf none"};
    }
    return {"/bin/sh", "-c", "printf '%s' '" + play.print + "'; exit " + std::to_string(play.exit)};
  }
  std::vector<std::string> EchoCommand(int exit) const override {
    return {"/bin/sh", "-c", "cat; exit " + std::to_string(exit)};
  }

 private:
  LoopRunner runner_;

 protected:
  AsioLoop& loop_ = runner_.loop();
};

}  // namespace tidemill
