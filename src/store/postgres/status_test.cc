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
  EXPECT_EQ(UnpackStatus(PackStatus(status)), status);
  EXPECT_EQ(UnpackStatus(PackStatus({})), MachineStatus{});
  EXPECT_FALSE(PackStatus({}).empty());
}

TEST(PackedStatus, WhatCannotBeReadIsNothing) {
  const std::string bytes = PackStatus({"docker", true, {{{7}, 1, 2, 3}}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(UnpackStatus(bytes.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(UnpackStatus(bytes + "x"), std::nullopt);
  EXPECT_EQ(UnpackStatus("\x02" + bytes.substr(1)), std::nullopt);
}

TEST(PackedStatus, IsNeverLargerThanARowShouldBe) {
  MachineStatus status{std::string(1000, 'x'), true, {}};
  status.jobs.resize(1000);
  for (JobUse& use : status.jobs) use.trouble = std::string(300, 'y');
  EXPECT_LT(PackStatus(status).size(), 2000u);
  EXPECT_EQ(UnpackStatus(PackStatus(status))->jobs.size(), limits::kJobsPerStatus);
}

}  // namespace
}  // namespace tidemill
