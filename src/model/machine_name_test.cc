// SPDX-License-Identifier: Apache-2.0
#include "model/machine_name.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(MachineName, IsReadAsItIsWritten) {
  EXPECT_EQ(MachineName("spot-a", 17), "spot-a-17");
  EXPECT_EQ(MachineNumber("spot-a", "spot-a-17"), 17);
}

TEST(MachineName, OfAnotherFormHasNoNumber) {
  for (const char* name : {"", "spot", "spot-", "spot-x", "spot-1x", "spot-a-17", "17"}) {
    EXPECT_EQ(MachineNumber("spot", name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace tidemill
