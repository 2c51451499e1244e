// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/status.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/limits.h"

namespace tidemill {
namespace {

TEST(PackedStatus, ComesBackAsItWent) {
  MachineStatus status{"docker 27", true, {}};
  for (std::int64_t i = 1; i <= static_cast<std::int64_t>(limits::kJobsPerStatus); ++i) {
    status.jobs.push_back({{i}, 3, 2500, std::numeric_limits<std::int64_t>::max()});
  }
  status.jobs[3].trouble = "no such image";
  status.jobs[5].waits_for = "pulling its image: 40 %";
  status.jobs[7].progress = {{12, 500, "epoch 3 of 10"}, {std::int64_t{1} << 40, 1000, ""}};
  status.type = "c7i.4xlarge";
  status.zone = "eu-west-1a";
  status.spot = true;
  EXPECT_EQ(UnpackStatus(PackStatus(status)), status);
  EXPECT_EQ(UnpackStatus(PackStatus({})), MachineStatus{});
  EXPECT_FALSE(PackStatus({}).empty());
}

TEST(PackedStatus, HasAllThatAMachineSaysOfItself) {
  MachineStatus status{std::string(limits::kReasonBytes, 'x'), true, {}};
  EXPECT_EQ(UnpackStatus(PackStatus(status)), status);
  status.engine += 'y';
  EXPECT_EQ(UnpackStatus(PackStatus(status))->engine.size(), limits::kReasonBytes);
}

TEST(PackedStatus, WhatCannotBeReadIsNothing) {
  const std::string bytes = PackStatus({"docker", true, {{{7}, 1, 2, 3}}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(UnpackStatus(bytes.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(UnpackStatus(bytes + "x"), std::nullopt);
  EXPECT_EQ(UnpackStatus("\x04" + bytes.substr(1)), std::nullopt);
}

TEST(PackedStatus, OfTheFirstVersionIsStillRead) {
  const std::string bytes(
      "\x01\x01\x06"
      "docker"
      "\x01\x07\x01\x02\x03\x02"
      "no",
      17);
  JobUse use{{7}, 1, 2, 3};
  use.trouble = "no";
  EXPECT_EQ(UnpackStatus(bytes), (MachineStatus{"docker", true, {use}}));
}

TEST(PackedStatus, OfTheSecondVersionIsStillRead) {
  const std::string bytes(
      "\x02\x01\x06"
      "docker"
      "\x01\x07\x01\x02\x03\x00\x00\x00",
      17);
  EXPECT_EQ(UnpackStatus(bytes), (MachineStatus{"docker", true, {{{7}, 1, 2, 3}}}));
}

TEST(PackedStatus, IsNeverLargerThanARowShouldBe) {
  MachineStatus status{std::string(1000, 'x'), true, {}};
  status.type = status.zone = std::string(1000, 'z');
  status.jobs.resize(1000);
  for (JobUse& use : status.jobs) {
    use.trouble = use.waits_for = std::string(300, 'y');
    use.progress.resize(100, {std::int64_t{1} << 40, 1000, "note"});
  }
  EXPECT_LT(PackStatus(status).size(), 2000u);
  EXPECT_EQ(UnpackStatus(PackStatus(status))->jobs.size(), limits::kJobsPerStatus);
}

}  // namespace
}  // namespace tidemill
