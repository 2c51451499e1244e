// SPDX-License-Identifier: Apache-2.0
#include "cli/queues.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

TEST(Queues, AsATable) {
  Queue night;
  night.name = "night";
  night.priority = -5;
  night.pools = {"spot", "default"};
  night.limits = {.machines = 20, .cost_an_hour = Money{2'500'000}, .running = {}};
  Queue off;
  off.name = "off";
  off.disabled = true;
  EXPECT_EQ(QueuesText({night, off}, 100, false),
            "QUEUE  PRIORITY  SHARE  STATE     POOLS          LIMITS\n"
            "night        -5      1  on        spot, default  20 machines, $2.5 an hour\n"
            "off           0      1  disabled  -              -\n");
  EXPECT_EQ(QueuesText({}, 100, false),
            "no queues.  Make some:  tidemill apply -f tidemill.yaml\n");
}

TEST(Queues, PoolsAsATable) {
  PoolSettings spot{{"", "spot", {}}, {}};
  spot.machines.provider = "local";
  spot.machines.shape = {4000, std::int64_t{16} << 30};
  spot.machines.spot = true;
  spot.machines.price = {100'000};
  spot.machines.max = 64;
  spot.machines.unit = SizeUnit::kVcpus;
  EXPECT_EQ(MachinesText({{{"", "default", {}}, {}}, spot}, 100, false),
            "POOL     PROVIDER  STATE  SIZE           PRICE        MACHINE\n"
            "default  -         on     -              -            -\n"
            "spot     local     on     0 to 64 vcpus  $0.1/h spot  4 cpus, 16 GiB\n");
}

}  // namespace
}  // namespace tidemill::cli
