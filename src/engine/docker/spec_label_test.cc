// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/spec_label.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(SpecLabel, ComesBackAsItWas) {
  ContainerSpec spec;
  spec.job = {42};
  spec.image = "a/b@sha256:1";
  spec.limits = {.millicpus = 500, .memory_bytes = 7, .devices = {{"k/x", 2}}};
  spec.shm_bytes = 3;
  spec.policy = {.no_capabilities = true, .firewall = true};
  spec.secret_files = true;
  spec.loop = true;
  spec.devices = {"/dev/a", "nvidia.com/gpu=GPU-1:2", "example.com/accel_x=a.b"};
  const auto again = ParseSpecLabel(FormatSpecLabel(spec));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job, spec.job);
  EXPECT_EQ(again->image, spec.image);
  EXPECT_EQ(again->limits, spec.limits);
  EXPECT_EQ(again->shm_bytes, 3);
  EXPECT_EQ(again->policy, spec.policy);
  EXPECT_TRUE(again->secret_files);
  EXPECT_TRUE(again->loop);
  EXPECT_EQ(again->devices, spec.devices);
  EXPECT_TRUE(ParseSpecLabel(FormatSpecLabel({})));
}

TEST(SpecLabel, HoldsNoLogin) {
  ContainerSpec spec;
  const std::string without = FormatSpecLabel(spec);
  spec.login = RegistryLogin{"me", "password"};
  EXPECT_EQ(FormatSpecLabel(spec), without);
}

TEST(SpecLabel, IsRefusedIfItIsNone) {
  EXPECT_FALSE(ParseSpecLabel(""));
  EXPECT_FALSE(ParseSpecLabel("job=1"));
  std::string text = FormatSpecLabel({});
  EXPECT_FALSE(ParseSpecLabel(text.replace(text.find("job=0"), 5, "job=x")));
}

}  // namespace
}  // namespace tidemill
