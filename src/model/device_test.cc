// SPDX-License-Identifier: Apache-2.0
#include "model/device.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

DeviceCount Such(std::int32_t count, std::string model, std::int64_t memory, std::int32_t version) {
  DeviceCount device = count;
  device.model = std::move(model);
  device.memory = memory;
  device.version = version;
  return device;
}

TEST(Device, IsKeptAsText) {
  EXPECT_EQ(FormatDevices({{"b/c", 2}, {"a", 1}}), "a=1 b/c=2");
  const Devices devices{{"a", 1},
                        {"nvidia.com/gpu", Such(8, "NVIDIA A10G", 24 * kGiB, 12002)},
                        {"m", Such(1, "X (Y) = Z", 0, 0)},
                        {"v", Such(0, "", 0, 2016)}};
  EXPECT_EQ(ParseDevices(FormatDevices(devices)), devices);
  EXPECT_EQ(FormatDevices({{"g", Such(2, "A B", 7, 12002)}}), "g=2,7,12002,A~B");
  EXPECT_EQ(ParseDevices(""), Devices());
}

DeviceCount Named(std::int32_t count, std::vector<std::string> ids) {
  DeviceCount device = count;
  device.ids = std::move(ids);
  return device;
}

TEST(Device, IsKeptAsTextWithItsNames) {
  EXPECT_EQ(FormatDevices({{"g", Named(2, {"0", "GPU-1:2"})}}), "g=2,0,0,,0;GPU-1:2");
  DeviceCount all = Such(2, "A B", 7, 12002);
  all.ids = {"b"};
  const Devices devices{{"a", Named(1, {"0"})}, {"g", all}};
  EXPECT_EQ(ParseDevices(FormatDevices(devices)), devices);
}

TEST(Device, IsSuchIfItHasTheNamesThatAreAskedFor) {
  const DeviceCount named = Named(2, {"a", "b"});
  EXPECT_TRUE(IsSuch(named, Named(1, {"b"})));
  EXPECT_TRUE(IsSuch(named, Named(2, {"b", "a"})));
  EXPECT_FALSE(IsSuch(named, Named(2, {"a", "c"})));
  EXPECT_FALSE(IsSuch(named, Named(1, {"0"})));
  EXPECT_TRUE(IsSuch(named, 2));
  EXPECT_TRUE(IsSuch(2, Named(1, {"1"}))) << "without names they are numbers";
  for (const char* id : {"2", "01", "-1", "a", "+1"}) EXPECT_FALSE(IsSuch(2, Named(1, {id}))) << id;
}

TEST(Device, NamesThatAreNumbersInTheirOrderAreLeftAway) {
  DeviceCount has = 2;
  SetDeviceIds(has, {"0", "1"});
  EXPECT_EQ(has, DeviceCount(2));
  EXPECT_EQ(DeviceIds(has), (std::vector<std::string>{"0", "1"}));
  SetDeviceIds(has, {"0", "2"});
  EXPECT_EQ(has, Named(2, {"0", "2"}));
  EXPECT_EQ(DeviceIds(has), (std::vector<std::string>{"0", "2"}));
}

TEST(Device, TextOfAnotherFormIsNone) {
  for (const char* text :
       {"a=1,2,3,a,b c", "a=1,2,3,a,b/c", "a=1,2,3,a,;b", "a", "a=", "=1", "a=x", "a=-1", "a=1,2",
        "a=1,2,x,", "a=1,-2,3,", "a b=1", "a=1  b=2", "a=99999999999"}) {
    EXPECT_EQ(ParseDevices(text), std::nullopt) << text;
  }
}

TEST(Device, VersionsGoByMajorAndMinor) {
  EXPECT_EQ(ParseDeviceVersion("12.2"), 12002);
  EXPECT_EQ(ParseDeviceVersion("12.10"), 12010);
  EXPECT_EQ(ParseDeviceVersion("2"), 2000);
  EXPECT_EQ(FormatDeviceVersion(12010), "12.10");
  for (const char* text : {"", "0.1", "a", "12.x", "12.2.1", "-1", "1000.1", "1.1000", ".5"}) {
    EXPECT_EQ(ParseDeviceVersion(text), std::nullopt) << text;
  }
}

TEST(Device, IsSuchIfItIsAtLeastWhatIsAskedFor) {
  const DeviceCount has = Such(4, "NVIDIA A10G", 22 * kGiB, 12002);
  EXPECT_TRUE(IsSuch(has, 9));
  EXPECT_TRUE(IsSuch(has, Such(1, "", 22 * kGiB, 12002)));
  EXPECT_FALSE(IsSuch(has, Such(1, "", 22 * kGiB + 1, 0)));
  EXPECT_FALSE(IsSuch(has, Such(1, "", 0, 12003)));
  EXPECT_FALSE(IsSuch(1, Such(1, "", 0, 1000))) << "nobody knows its version";
  for (const char* model : {"A10G", "a10g", "NVIDIA A10G", "nvidia"}) {
    EXPECT_TRUE(IsSuch(has, Such(1, model, 0, 0))) << model;
  }
  for (const char* model : {"A10", "10G", "A10G 24", "L4"}) {
    EXPECT_FALSE(IsSuch(has, Such(1, model, 0, 0))) << model;
  }
  EXPECT_TRUE(IsSuch(Such(1, "A100-SXM4-80GB", 0, 0), Such(1, "A100", 0, 0)));
  EXPECT_TRUE(IsSuch(Such(1, "A10G A10", 0, 0), Such(1, "A10", 0, 0))) << "the second place";
}

TEST(Device, IsToldInWords) {
  EXPECT_EQ(DeviceInWords("nvidia.com/gpu", 2), "2 nvidia.com/gpu");
  EXPECT_EQ(DeviceInWords("nvidia.com/gpu", Such(1, "A10G", 22 * kGiB + kGiB / 2, 12002)),
            "1 nvidia.com/gpu (A10G, 22.5 GiB, version 12.2)");
  EXPECT_EQ(DeviceInWords("n", Such(1, "", 0, 2016)), "1 n (version 2.16)");
  EXPECT_EQ(DeviceInWords("n", Named(2, {"0", "2"})), "2 n (named 0, 2)");
  EXPECT_EQ(DeviceInWords("n", Named(6, {"a", "b", "c", "d", "e", "f"})),
            "6 n (named a, b, c, d and 2 more)");
}

}  // namespace
}  // namespace tidemill
