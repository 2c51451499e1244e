// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/device_check.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Words = std::vector<std::string>;
using std::chrono::milliseconds;

class DeviceCheckTest : public ::testing::Test {
 protected:
  DeviceCheckTest() {
    std::string name = (std::filesystem::temp_directory_path() / "devices-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~DeviceCheckTest() override { std::filesystem::remove_all(folder_); }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }

  Words Look(RealDeviceCheck& check, const std::vector<MachineDevice>& devices) {
    std::optional<Words> found;
    check.Look(devices, [&](Words troubles) {
      found = std::move(troubles);
      loop_.Stop();
    });
    EXPECT_FALSE(found) << "called from inside";
    loop_.Run();
    return *found;
  }

  AsioLoop loop_;
  std::string folder_;
};

TEST_F(DeviceCheckTest, NodesMustBeThereAndBeDevicesAndOpen) {
  RealDeviceCheck check(loop_, {});
  std::ofstream(In("file")) << "x";
  const std::vector<MachineDevice> devices = {
      {"k", "/dev/null"},
      {"k", In("gone")},
      {"k", "a.b/c=0", {"/dev/null", "/dev/zero"}},
      {"k", "a.b/c=1", {"/dev/null", In("gone")}},
      {"k", "a.b/c=2", {In("file")}},
      {"k", In("file")},
      {"k", "a.b/c=3"},
  };
  EXPECT_EQ(Look(check, devices),
            (Words{"", "there is no " + In("gone"), "", "there is no " + In("gone"),
                   In("file") + " is no device", "", ""}));
}

TEST_F(DeviceCheckTest, OneWithoutADriverDoesNotWork) {
  if (mknod(In("none").c_str(), S_IFCHR | 0600, makedev(499, 7)) != 0) {
    ASSERT_EQ(errno, EPERM) << "only root makes devices";
    return;
  }
  RealDeviceCheck check(loop_, {});
  EXPECT_EQ(Look(check, {{"k", In("none")}}),
            Words{"cannot open " + In("none") + ": No such device or address"});
}

TEST_F(DeviceCheckTest, ACommandHasTheLastWord) {
  RealDeviceCheck check(loop_, {.command = "echo table; test a.b/c=1 !="});
  const std::vector<MachineDevice> devices = {
      {"k", "a.b/c=0"}, {"k", "a.b/c=1"}, {"k", "a.b/c=2"}, {"k", "/dev/null"}};
  EXPECT_EQ(Look(check, devices), (Words{"", "its check ends with exit code 1", "", ""}));
  EXPECT_EQ(Look(check, devices), (Words{"", "its check ends with exit code 1", "", ""}));
}

TEST_F(DeviceCheckTest, ANameIsOneWordWhateverIsInIt) {
  RealDeviceCheck check(loop_, {.command = "test \"it's \\$(false)\" ="});
  EXPECT_EQ(Look(check, {{"k", "it's $(false)"}}), Words{""});
}

TEST_F(DeviceCheckTest, NvidiasToolIsAskedForItsOwnByNumber) {
  RealDeviceCheck check(loop_, {.nvidia_command = "test 3 ="});
  EXPECT_EQ(Look(check, {{"nvidia.com/gpu", "nvidia.com/gpu=3"},
                         {"nvidia.com/gpu", "nvidia.com/gpu=4"},
                         {"k", "a.b/c=4"}}),
            (Words{"", "its check ends with exit code 1", ""}));
}

TEST_F(DeviceCheckTest, ACommandThatHangsIsKilledWithAllThatItStarted) {
  const std::string script = "echo $$ > " + In("pid") + "; sleep 1000; true";
  RealDeviceCheck check(loop_, {.command = script, .limit = milliseconds(900)});
  EXPECT_EQ(Look(check, {{"k", "a.b/c=0"}, {"k", "a.b/c=1"}}),
            (Words{"its check takes longer than 0 s", ""}));
  int pid = 0;
  std::ifstream(In("pid")) >> pid;
  ASSERT_GT(pid, 0);
  // Until it is gone the others are as they were; then they are looked at again.
  for (int i = 0; i < 6'000 && kill(pid, 0) == 0; ++i) {
    loop_.After(milliseconds(10), [this] { loop_.Stop(); });
    loop_.Run();
  }
  EXPECT_NE(kill(pid, 0), 0);
  std::filesystem::remove(In("pid"));
  EXPECT_EQ(Look(check, {{"k", "a.b/c=0"}})[0], "its check takes longer than 0 s");
  EXPECT_TRUE(std::filesystem::exists(In("pid")));
}

}  // namespace
}  // namespace tidemill
