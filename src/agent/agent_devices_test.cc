// SPDX-License-Identifier: Apache-2.0
// Devices of a machine: which are given out, and what items are told of theirs.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_test.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Finds what the test says.
class FakeCheck : public DeviceCheck {
 public:
  explicit FakeCheck(Loop& loop) : loop_(loop) {}
  void Look(const std::vector<MachineDevice>& devices,
            std::function<void(std::vector<std::string>)> done) override {
    ++looks;
    std::vector<std::string> found;
    for (const MachineDevice& device : devices) found.push_back(troubles[device.path]);
    if (!hangs) loop_.After(milliseconds(5), [done, found] { done(found); });
  }

  std::map<std::string, std::string> troubles;
  bool hangs = false;
  int looks = 0;

 private:
  Loop& loop_;
};

DeviceCount OneNamed(const std::string& id) {
  DeviceCount one = 1;
  one.ids = {id};
  return one;
}

class AgentDevicesTest : public AgentTest {
 protected:
  AgentDevicesTest() {
    check_ = &devices_;
    play_.open = [this](const ContainerSpec& spec) {
      opened_.push_back(spec.devices);
      return Result<void>();
    };
    play_.run = [this](const ItemRun& run) {
      for (const std::string& variable : run.env) {
        const std::string name = "TIDEMILL_DEVICES=";
        if (variable.starts_with(name)) ran_.push_back(variable.substr(name.size()));
      }
      return FakeRun{.takes = takes_};
    };
    link_.documents[JobId{1}] =
        R"({"command":["true"],"resources":{"cpus":1,"devices":{"gpu":1}}})";
  }
  void Start(std::vector<MachineDevice> devices = {{"gpu", "/dev/gpu0"}, {"gpu", "/dev/gpu1"}}) {
    AgentOptions options;
    options.devices = std::move(devices);
    StartAgent(options);
  }
  std::int64_t RanOn(const std::string& device) const {
    return std::count(ran_.begin(), ran_.end(), device);
  }

  FakeCheck devices_{loop_};
  Duration takes_ = seconds(1);
  std::vector<std::vector<std::string>> opened_;
  std::vector<std::string> ran_;  // the devices that each run was told
};

TEST_F(AgentDevicesTest, EachRunIsToldItsOwn) {
  link_.documents[JobId{1}] = R"({"command":["true"],"env":{"CUDA_VISIBLE_DEVICES":"9"},)"
                              R"("resources":{"cpus":1,"devices":{"nvidia.com/gpu":2}}})";
  std::vector<std::string> env;
  play_.mounts = true;
  play_.run = [&env](const ItemRun& run) {
    env = run.env;
    return FakeRun{};
  };
  Grants(1, 0, 1);
  Start({{"nvidia.com/gpu", "nvidia.com/gpu=4"}, {"nvidia.com/gpu", "nvidia.com/gpu=5"}});
  RunFor(seconds(3));
  EXPECT_EQ(link_.outcomes.at(0).at(0).devices, "nvidia.com/gpu=4,5");
  const auto has = [&env](const std::string& variable) {
    return std::count(env.begin(), env.end(), variable) == 1;
  };
  EXPECT_TRUE(has("NVIDIA_VISIBLE_DEVICES=4,5"));
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES=0,1"));
  EXPECT_FALSE(has("CUDA_VISIBLE_DEVICES=9"));
}

TEST_F(AgentDevicesTest, OneThatFailsGetsNothingMoreAndItsItemGoesOn) {
  takes_ = seconds(4);
  Grants(1, 0, 20);
  Start();
  RunFor(seconds(2));
  EXPECT_EQ(opened_.size(), 2U);
  devices_.troubles["/dev/gpu0"] = "it is gone";
  RunFor(seconds(40));
  EXPECT_EQ(link_.last_status().engine, "fake; it does not give out /dev/gpu0: it is gone");
  EXPECT_EQ(log_.CountOf("devices.left_out"), 1);
  const auto before = RanOn("/dev/gpu0");
  EXPECT_LE(before, 8);
  RunFor(seconds(60));
  EXPECT_EQ(RanOn("/dev/gpu0"), before);
  EXPECT_EQ(link_.outcomes.size(), 20U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].cause, Cause::kSucceeded);
  }
  EXPECT_EQ(link_.syncs.back().free.devices.at("gpu"), OneNamed("1"));
}

TEST_F(AgentDevicesTest, OneThatWorksAgainIsGivenOutAgain) {
  devices_.troubles["/dev/gpu0"] = "it is gone";
  Start();
  RunFor(seconds(5));
  EXPECT_EQ(link_.syncs.back().free.devices.at("gpu"), OneNamed("1"));
  devices_.troubles.clear();
  RunFor(seconds(40));
  EXPECT_EQ(link_.syncs.back().free.devices.at("gpu"), 2);
  EXPECT_EQ(link_.last_status().engine, "fake");
  EXPECT_EQ(log_.CountOf("devices.well"), 1);
  Grants(1, 0, 4);
  RunFor(seconds(20));
  EXPECT_GE(RanOn("/dev/gpu0"), 1);
}

TEST_F(AgentDevicesTest, WhatComesForMoreThanIsLeftGoesBack) {
  Grants(1, 0, 10);
  Start({{"gpu", "/dev/gpu0"}});
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 10U);
  devices_.troubles["/dev/gpu0"] = "it is gone";
  RunFor(seconds(30));
  EXPECT_FALSE(link_.syncs.back().free.devices.contains("gpu"));
  Grants(2, 20, 10);
  RunFor(seconds(30));
  EXPECT_EQ(link_.given_back, 10);
}

TEST_F(AgentDevicesTest, WhatIsNamedIsHadAndGoesBackWhenItFails) {
  link_.documents[JobId{1}] =
      R"({"command":["true"],"resources":{"cpus":1,"devices":{"gpu":{"ids":["1"]}}}})";
  Grants(1, 0, 6);
  Start();
  RunFor(seconds(20));
  EXPECT_EQ(ran_, std::vector<std::string>(6, "/dev/gpu1"));
  devices_.troubles["/dev/gpu1"] = "it is gone";
  RunFor(seconds(40));
  Grants(2, 20, 10);
  RunFor(seconds(30));
  EXPECT_EQ(link_.given_back, 10);
  EXPECT_EQ(ran_.size(), 6U);
}

TEST_F(AgentDevicesTest, ItemsInTheMiddleOfALeaseGoBackWhenTheOnlyDeviceFails) {
  takes_ = seconds(20);
  Grants(1, 0, 10);
  Start({{"gpu", "/dev/gpu0"}});
  RunFor(seconds(25));
  devices_.troubles["/dev/gpu0"] = "it is gone";
  RunFor(seconds(60));
  EXPECT_EQ(link_.outcomes.size() + static_cast<std::size_t>(link_.given_back), 10U);
  EXPECT_GE(link_.given_back, 7);
  EXPECT_EQ(engine_->containers(), 0U);
}

TEST_F(AgentDevicesTest, WhatTheEngineCannotGiveIsNotTried) {
  play_.device_trouble = [](const std::string& device) {
    return device.starts_with('/') ? "" : "run: install";
  };
  Grants(1, 0, 4);
  Start({{"gpu", "a.b/gpu=0"}, {"gpu", "/dev/gpu1"}});
  RunFor(seconds(10));
  EXPECT_EQ(opened_, (std::vector<std::vector<std::string>>{{"/dev/gpu1"}}));
  EXPECT_EQ(link_.last_status().engine, "fake; it does not give out a.b/gpu=0: run: install");
  EXPECT_EQ(link_.outcomes.size(), 4U);
}

TEST_F(AgentDevicesTest, TheWholeMachineIsWhatWorksOfIt) {
  link_.documents[JobId{1}] = R"({"command":["true"],"resources":"machine"})";
  devices_.troubles["/dev/gpu0"] = "it is gone";
  Start();
  RunFor(seconds(2));
  Grants(1, 0, 1);
  RunFor(seconds(20));
  EXPECT_EQ(opened_, (std::vector<std::vector<std::string>>{{"/dev/gpu1"}}));
  EXPECT_EQ(link_.outcomes.size(), 1U);
}

TEST_F(AgentDevicesTest, LooksAreSeldomAndOneAtATime) {
  Start();
  RunFor(seconds(95));
  EXPECT_EQ(devices_.looks, 4);  // at 0, and at the first second 30 after each
  devices_.hangs = true;
  RunFor(seconds(300));
  EXPECT_EQ(devices_.looks, 5);
}

}  // namespace
}  // namespace tidemill
