// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/spec_label.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(SpecLabel, ComesBackAsItWas) {
  const ContainerSpec spec{.job = {42},
                           .image = "a/b@sha256:1",
                           .limits = {.millicpus = 500, .memory_bytes = 7, .devices = {{"k/x", 2}}},
                           .shm_bytes = 3,
                           .policy = {.no_capabilities = true, .firewall = true},
                           .secret_files = true,
                           .loop = true,
                           .devices = {"/dev/a", "/dev/b"}};
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
