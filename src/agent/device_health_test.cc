// SPDX-License-Identifier: Apache-2.0
#include "agent/device_health.h"

#include <utility>

#include <gtest/gtest.h>

#include "agent/room.h"

namespace tidemill {
namespace {

const std::vector<MachineDevice> kDevices = {
    {"gpu", "/dev/gpu0"}, {"gpu", "/dev/gpu1"}, {"gpu", "/dev/gpu2"}, {"fpga", "a.b/fpga=0"}};

TEST(DeviceHealth, OneThatFailsIsLeftOutUntilItWorksAgain) {
  DeviceHealth health(kDevices);
  EXPECT_EQ(health.Text(), "");
  EXPECT_FALSE(health.OnLooked({"", "", "", ""}));
  EXPECT_TRUE(health.OnLooked({"", "it is gone", "", ""}));
  EXPECT_FALSE(health.OnLooked({"", "it is gone", "", ""}));
  EXPECT_EQ(health.Usable(), (std::vector<bool>{true, false, true, true}));
  DeviceCount two = 2;
  two.ids = {"0", "2"};
  EXPECT_EQ(health.Count(), (Devices{{"fpga", 1}, {"gpu", two}}));
  EXPECT_EQ(health.Text(), "it does not give out /dev/gpu1: it is gone");
  EXPECT_TRUE(health.OnLooked({"", "", "", ""}));
  EXPECT_EQ(health.Count(), (Devices{{"fpga", 1}, {"gpu", 3}}));
}

TEST(DeviceHealth, WhatTheEngineCannotGiveIsLeftOutToo) {
  DeviceHealth health(kDevices);
  EXPECT_TRUE(health.OnEngine({"", "", "", "it knows no specs"}));
  EXPECT_TRUE(health.OnLooked({"", "", "", "it is gone"}));
  EXPECT_EQ(health.TroubleOf(3), "it is gone");
  EXPECT_TRUE(health.OnLooked({"", "", "", ""}));
  EXPECT_EQ(health.TroubleOf(3), "it knows no specs");
  EXPECT_EQ(health.Count(), (Devices{{"fpga", 0}, {"gpu", 3}}));
  EXPECT_TRUE(health.OnEngine({"", "", "", ""}));
  EXPECT_EQ(health.Text(), "");
}

TEST(DeviceHealth, WhatSeveralHaveInCommonIsSaidOnce) {
  DeviceHealth health(kDevices);
  health.OnLooked({"it is gone", "it is gone", "it hangs", "it hangs"});
  EXPECT_EQ(health.Text(),
            "it does not give out /dev/gpu0, /dev/gpu1: it is gone; /dev/gpu2, a.b/fpga=0: it "
            "hangs");
}

TEST(Room, GivesOutNoDeviceThatItMayNot) {
  Room room({4000, 0}, kDevices);
  const Resources one{0, 0, {{"gpu", 1}}};
  const auto first = room.Take(one);
  ASSERT_TRUE(first);
  EXPECT_EQ(room.DevicesOf(*first), std::vector<MachineDevice>{kDevices[0]});
  room.Use({false, false, true, true});
  const auto second = room.Take(one);
  ASSERT_TRUE(second);
  EXPECT_EQ(room.DevicesOf(*second), std::vector<MachineDevice>{kDevices[2]});
  EXPECT_FALSE(room.Take(one));
  room.Return(*first);
  EXPECT_FALSE(room.Take(one));
  room.Use({true, false, true, true});
  EXPECT_TRUE(room.Take(one));
  EXPECT_FALSE(room.Take(one));
}

Resources AskingFor(std::vector<std::string> ids) {
  DeviceCount asked = static_cast<std::int32_t>(ids.size());
  asked.ids = std::move(ids);
  return {0, 0, {{"gpu", asked}}};
}

TEST(Room, GivesOutTheDevicesThatAreNamedAndNoOthers) {
  const std::vector<MachineDevice> devices = {
      {"gpu", "a.b/gpu=x"}, {"gpu", "a.b/gpu=y"}, {"gpu", "/dev/gpu7"}};
  Room room({4000, 0}, devices);
  EXPECT_FALSE(room.Fits(AskingFor({"0"})));
  const auto last = room.Take(AskingFor({"2", "y"}));
  ASSERT_TRUE(last);
  EXPECT_EQ(room.DevicesOf(*last), (std::vector<MachineDevice>{devices[1], devices[2]}));
  EXPECT_FALSE(room.Take(AskingFor({"y"}))) << "it is held";
  EXPECT_TRUE(room.Fits(AskingFor({"x"})));
  const auto any = room.Take({0, 0, {{"gpu", 1}}});
  ASSERT_TRUE(any);
  EXPECT_FALSE(room.Fits(AskingFor({"x"})));
  room.Return(*last);
  EXPECT_TRUE(room.Take(AskingFor({"y"})));
}

TEST(Room, WhatIsHeldAlreadyIsHeldWhetherItMayBeGivenOutOrNot) {
  Room room({4000, 0}, kDevices);
  room.Use({false, false, false, false});
  const Resources two{0, 0, {{"gpu", 2}}};
  EXPECT_FALSE(room.Take(two));
  const auto found = room.TakeThese(two, {"/dev/gpu0", "/dev/gpu2"});
  ASSERT_TRUE(found);
  EXPECT_FALSE(room.TakeThese({0, 0, {{"gpu", 1}}}, {"/dev/gpu2"}));
  room.Use({true, true, true, true});
  EXPECT_FALSE(room.Fits(two));
  EXPECT_TRUE(room.Fits({0, 0, {{"gpu", 1}}}));
}

}  // namespace
}  // namespace tidemill
