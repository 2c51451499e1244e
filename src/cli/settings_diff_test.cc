// SPDX-License-Identifier: Apache-2.0
#include "cli/settings_diff.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

SettingsFile FileOf(std::string_view json) {
  auto file = ParseSettingsFile(json);
  EXPECT_TRUE(file) << file.error().reason;
  return file.value_or(SettingsFile{});
}

// As they are after all steps.
SettingsNow After(const SettingsFile& file) {
  SettingsNow now{.pools = {{{"", "default", {}}, {}}}, .queues = {}};
  for (const auto& [name, entry] : file.pools) {
    const Pool pool{"", name, entry.policy.value_or(ContainerPolicy{})};
    if (name == "default") {
      now.pools[0] = {pool, entry.machines};
    } else {
      now.pools.push_back({pool, entry.machines});
    }
  }
  for (const auto& [name, queue] : file.queues) now.queues.push_back(queue);
  return now;
}

std::string DiffText(const SettingsFile& file, const SettingsNow& now, bool prune = false) {
  return StepsText(StepsTo(file, now, prune), 100, false);
}

constexpr const char* kFile = R"({
  "pools": {"spot": {"provider": "local", "shape": {"cpus": 4, "memory": "16GiB"}, "spot": true,
                     "max": 20, "policy": {"no_network": true}}},
  "queues": {"night": {"pools": ["spot", "default"], "limits": {"running": 1000}}}})";

TEST(SettingsDiff, PoolsAreMadeBeforeTheQueuesThatNameThem) {
  EXPECT_EQ(DiffText(FileOf(kFile), After({})),
            "+ pool spot\n"
            "    policy      no network\n"
            "    provider    local\n"
            "    shape       4 cpus, 16 GiB\n"
            "    spot        yes\n"
            "    max         20\n"
            "+ queue night\n"
            "    pools       spot, default\n"
            "    limits      1,000 running items\n"
            "2 to add, 0 to change, 0 to remove\n");
}

TEST(SettingsDiff, WhatIsAsTheFileSaysHasNoStep) {
  const SettingsFile file = FileOf(kFile);
  EXPECT_EQ(DiffText(file, After(file)), "");
  EXPECT_EQ(DiffText(file, After(file), true), "");
  // A file that says nothing of a policy leaves it.
  SettingsNow strict = After({});
  strict.pools[0].pool.policy.firewall = true;
  EXPECT_EQ(DiffText(FileOf(R"({"pools": {"default": {}}})"), strict), "");
}

TEST(SettingsDiff, AChangeHasTheOldAndTheNewValue) {
  SettingsFile file = FileOf(kFile);
  const SettingsNow now = After(file);
  file.pools.at("spot").machines.max = 1500;
  file.pools.at("spot").machines.max_price = 60;
  file.pools.at("spot").policy = ContainerPolicy{};
  file.pools.at("spot").policy->volumes = {{"m", {.host = "/srv/m", .readonly = true}},
                                           {"s", {.nfs = "a:/e", .options = "hard"}}};
  file.queues.at("night").limits = {};
  const std::vector<Step> steps = StepsTo(file, now, false);
  EXPECT_EQ(StepsText(steps, 100, false),
            "~ pool spot\n"
            "    policy      no network -> -\n"
            "    volumes     - -> m = /srv/m read-only, s = a:/e (hard)\n"
            "    max         20 -> 1,500\n"
            "    max_price   - -> 60 %\n"
            "~ queue night\n"
            "    limits      1,000 running items -> -\n"
            "0 to add, 2 to change, 0 to remove\n");
  EXPECT_TRUE(steps.at(0).policy && steps.at(0).machines);
  EXPECT_EQ(steps.at(1).queue, file.queues.at("night"));
  EXPECT_NE(StepsText(steps, 100, true).find("\x1b["), std::string::npos);
}

TEST(SettingsDiff, WhatTheFileDoesNotNameGoesOnlyWithPrune) {
  const SettingsNow now = After(FileOf(kFile));
  EXPECT_EQ(DiffText({}, now), "");
  // Queues first: a pool that one names cannot go. The default pool stays.
  EXPECT_EQ(DiffText({}, now, true),
            "- queue night\n- pool spot\n0 to add, 0 to change, 2 to remove\n");
}

TEST(SettingsDiff, AQueueWhosePoolWillNotBeThereStopsAll) {
  const SettingsFile file = FileOf(R"({"queues": {"q": {"pools": ["default", "spot"]}}})");
  EXPECT_EQ(WhyNot(file, After({}), false),
            "queue q names pool spot, which is neither in the file nor on the server");
  const SettingsNow now = After(FileOf(kFile));
  EXPECT_FALSE(WhyNot(file, now, false));
  EXPECT_EQ(WhyNot(file, now, true),
            "queue q names pool spot, which --prune would remove; add it to the file");
}

TEST(SettingsDiff, ChangesForPrograms) {
  SettingsFile file = FileOf(kFile);
  const SettingsNow now = After(file);
  file.queues.at("night").priority = 5;
  EXPECT_EQ(FormatChanges({StepsTo(file, now, false).at(0).change}, false),
            R"({"applied":false,"changes":[{"op":"change","what":"queue","name":"night",)"
            R"("fields":[{"field":"priority","before":"0","after":"5"}]}]})");
}

}  // namespace
}  // namespace tidemill::cli
