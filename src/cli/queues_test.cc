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
  EXPECT_EQ(MachinesText({{{"", "default", {}}, {}}, spot}, {}, 0, 100, false),
            "POOL     PROVIDER  STATE  SIZE           PRICE        MACHINE         MACHINES\n"
            "default  -         on     -              -            -               -\n"
            "spot     local     on     0 to 64 vcpus  $0.1/h spot  4 cpus, 16 GiB  -\n");
}

TEST(Queues, PoolsSayWhyTheyAreHeld) {
  const std::vector<PoolSettings> pools = {{{"", "spot", {}}, {}}};
  PoolNow now;
  now.machines = {0, 2, 3, 0};
  now.limit = 5;
  const auto text = [&](const std::string& hold) {
    now.hold = hold;
    const std::string all = MachinesText(pools, {{"spot", now}}, 0, 100, false);
    return all.substr(all.find("2 booting, 3 joined\n") + 20);
  };
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("no_provider"), "");
  EXPECT_EQ(text("pool_max"), "spot: it has the most that it may, 5 machines\n");
  EXPECT_EQ(text("price_cap"), "spot: it costs more than its max_price allows\n");
  EXPECT_EQ(text("steps"), "spot: its steps give no more for what waits now\n");
  now.words = "No\x1b Room";
  now.tried = 6;
  now.again_ms = 120'000;
  EXPECT_EQ(text("no_capacity"),
            "spot: its provider has no capacity: 'No? Room', tried 6 times, again in 2 min\n");
  EXPECT_EQ(text("quota"), "spot: the provider's quota is 5 machines: 'No? Room'\n");
  now.words = "";
  now.never_joined = 3;
  EXPECT_EQ(text("protected"),
            "spot: its last 3 machines never joined. Look at one's console, then:  tidemill pools "
            "forgive spot\n");
}

}  // namespace
}  // namespace tidemill::cli
