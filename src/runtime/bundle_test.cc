// SPDX-License-Identifier: Apache-2.0
#include "runtime/bundle.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "runtime/scratch_test.h"

namespace tidemill {
namespace {

constexpr char kSpec[] = R"({"cdiVersion": "0.6.0", "kind": "example.com/accel", "devices": [
  {"name": "0", "containerEdits": {"env": ["ACCEL=0"],
       "deviceNodes": [{"path": "/dev/accel0", "hostPath": "/dev/zero"}]}},
  {"name": "gone", "containerEdits": {"deviceNodes": [{"path": "/dev/no-such-accel"}]}}]})";

class Bundle : public testing::Test {
 protected:
  Bundle() {
    scratch_.Write("cdi/accel.json", kSpec);
    config_.cdi_folders = {scratch_.path() + "/cdi"};
  }
  Result<BundleChange> Edit(const std::string& config_json) {
    scratch_.Write("bundle/config.json", config_json);
    return EditBundle({.command = "create", .bundle = scratch_.path() + "/bundle"}, config_);
  }
  std::string After() { return scratch_.Read("bundle/config.json"); }

  const ScratchFolder scratch_;
  RuntimeConfig config_;
};

TEST_F(Bundle, GetsWhatItAsksFor) {
  const auto change = Edit(R"({"process":{"env":["TIDEMILL_CDI=example.com/accel=0"]}})");
  ASSERT_TRUE(change) << change.error().reason;
  EXPECT_EQ(change->devices, std::vector<std::string>{"example.com/accel=0"});
  EXPECT_TRUE(change->edited);
  EXPECT_EQ(After(),
            R"({"linux":{"devices":[{"fileMode":438,"major":1,"minor":5,"path":"/dev/accel0",)"
            R"("type":"c"}],)"
            R"("resources":{"devices":[{"access":"rwm","allow":true,"major":1,"minor":5,)"
            R"("type":"c"}]}},"process":{"env":["ACCEL=0"]}})");
  // A bundle that is started again is as it was.
  const std::string first = After();
  ASSERT_TRUE(Edit(first));
  EXPECT_EQ(After(), first);
}

TEST_F(Bundle, ThatAsksForNothingStaysToTheByte) {
  const std::string text = "{ \"process\" : {\"env\":[\"A=1\"]},\n\n \"x\":1.50 }\n";
  const auto change = Edit(text);
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->edited);
  EXPECT_EQ(After(), text);
  config_.from_environment = false;
  const std::string asks = R"({"process" :{"env":["TIDEMILL_CDI=example.com/accel=0"]}})";
  ASSERT_TRUE(Edit(asks));
  EXPECT_EQ(After(), asks);
}

TEST_F(Bundle, GetsTheHooksOfHookFiles) {
  scratch_.Write("hooks/a.json", R"({"hooks":{"poststop":[{"path":"/a"}]}})");
  config_.hook_folders = {scratch_.path() + "/hooks"};
  const auto change = Edit("{}");
  ASSERT_TRUE(change) << change.error().reason;
  EXPECT_EQ(change->hooks, 1U);
  EXPECT_EQ(After(), R"({"hooks":{"poststop":[{"path":"/a"}]}})");
}

TEST_F(Bundle, WithoutConfigIsTheRuntimesBelow) {
  const auto change = EditBundle({.command = "create", .bundle = scratch_.path()}, config_);
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->edited);
}

TEST_F(Bundle, IsRefusedWithWhatToDo) {
  const auto why = [&](const std::string& device) {
    const std::string text = R"({"process":{"env":["TIDEMILL_CDI=)" + device + R"("]}})";
    const auto change = Edit(text);
    EXPECT_EQ(After(), text);
    return change ? "taken" : change.error().reason;
  };
  EXPECT_EQ(why("example.com/accel=7"),
            "no spec has the device example.com/accel=7; specs are looked for in " +
                scratch_.path() + "/cdi, and 'tidemill-runtime cdi list' shows what they have");
  EXPECT_EQ(why("accel"), "'accel' is no device; write vendor.com/class=name");
  EXPECT_TRUE(why("example.com/accel=gone")
                  .starts_with("example.com/accel=gone: the device node /dev/no-such-accel: "))
      << why("example.com/accel=gone");
  scratch_.Write("cdi/wrong.json", "{\n\"cdiVersion\": 7}");
  EXPECT_NE(why("example.com/accel=7").find(scratch_.path() + "/cdi/wrong.json: line "),
            std::string::npos)
      << why("example.com/accel=7");
  const auto change = Edit("{ no JSON");
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().reason,
            scratch_.path() + "/bundle/config.json: not JSON: it goes wrong at byte 4");
}

}  // namespace
}  // namespace tidemill
