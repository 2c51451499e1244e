// SPDX-License-Identifier: Apache-2.0
// Plans that failed once, or go where others seldom do: kept/*.json. All must be good.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/beside_test.h"
#include "sim/plan_json.h"
#include "sim/world.h"

namespace tidemill {
namespace {

std::vector<std::filesystem::path> KeptFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(BesideTest(TIDEMILL_KEPT_PLANS))) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(KeptPlans, AreGood) {
  const std::vector<std::filesystem::path> files = KeptFiles();
  ASSERT_FALSE(files.empty());
  for (const std::filesystem::path& path : files) {
    SCOPED_TRACE(path.filename());
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const Result<SimPlan> plan = ParsePlan(text);
    ASSERT_TRUE(plan) << plan.error().reason;
    EXPECT_FALSE(plan->why.empty());
    const SimOutcome outcome = Play(*plan);
    EXPECT_EQ(outcome.verdict, SimVerdict::kGood) << outcome.id << ": " << outcome.what;
  }
}

}  // namespace
}  // namespace tidemill
