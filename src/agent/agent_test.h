// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/agent_testing.h"
#include "base/virtual_loop.h"
#include "engine/fake/fake_engine.h"

namespace tidemill {

// An agent on a virtual clock, an engine that is played, and servers that the test plays.
class AgentTest : public ::testing::Test {
 protected:
  void StartAgent(AgentOptions options = {}) {
    options.machine = "m1";
    options.shape = {4000, 8LL << 30, CountDevices(options.devices)};
    engine_ = std::make_unique<FakeEngine>(loop_, play_);
    agent_ = std::make_unique<Agent>(AgentDeps{loop_, link_, *engine_, random_, log_, logs_,
                                               memory_, nullptr, nullptr, nullptr, check_},
                                     options);
    agent_->Start();
  }

  void Grants(std::uint64_t lease, int first, int count, JobId job = {1}) {
    link_.documents.try_emplace(job, R"({"command":["true"],"resources":{"cpus":1}})");
    Grant grant;
    grant.lease.id = {1, lease};
    grant.lease.chunk = {job, 0};
    grant.lease.mine = Bits::Range(100, first, count);
    link_.to_grant.push_back(grant);
  }

  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  TestLink link_{loop_};
  TestLogs logs_;
  TestMemory memory_;
  TestLog log_;
  FakeEngine::Play play_;
  DeviceCheck* check_ = nullptr;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace tidemill
