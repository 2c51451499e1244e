// SPDX-License-Identifier: Apache-2.0
#include "sim/plan_json.h"

#include <cstdint>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/plan_fields.h"

namespace tidemill {
namespace {

// Gives every field of a plan a value of its own, which is not its default.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}

  void Fill(bool& value) { value = !value; }
  void Fill(double& value) { value = 0.001 + random_.Unit(); }
  void Fill(std::string& value) { value = "text \"" + std::to_string(random_.Next()) + "\"\n"; }
  void Fill(int& value) { value += 1 + static_cast<int>(random_.Below(1000)); }
  void Fill(std::int64_t& value) { value += 1 + static_cast<std::int64_t>(random_.Below(1 << 30)); }
  void Fill(std::uint64_t& value) { value += 1 + (random_.Next() >> random_.Below(64)); }
  void Fill(Duration& value) { value += Duration(1 + random_.Below(1'000'000'000)); }
  void Fill(Money& value) { Fill(value.micros); }
  template <typename T>
  void Fill(std::vector<T>& values) {
    values.resize(1 + random_.Below(3));
    for (T& value : values) Fill(value);
  }
  template <Listed T>
  void Fill(T& value) {
    const T before = value;
    EachField<T>([&](const char* name, auto member) {
      Fill(value.*member);
      EXPECT_NE(value.*member, before.*member) << name;
    });
  }

 private:
  SeededRandom random_;
};

TEST(PlanJson, KeepsEveryField) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SimPlan plan;
    Filler(seed).Fill(plan);
    const std::string text = FormatPlan(plan);
    const Result<SimPlan> again = ParsePlan(text);
    ASSERT_TRUE(again) << again.error().reason << "\n" << text;
    ASSERT_TRUE(*again == plan) << text;
    ASSERT_EQ(FormatPlan(*again), text);
  }
}

TEST(PlanJson, KeepsThePlansOfSeeds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const SimPlan plan = DrawPlan(seed);
    const Result<SimPlan> again = ParsePlan(FormatPlan(plan));
    ASSERT_TRUE(again) << again.error().reason;
    ASSERT_TRUE(*again == plan) << FormatPlan(plan);
  }
}

TEST(PlanJson, TakesWhatIsAbsentAsItsDefault) {
  const Result<SimPlan> plan = ParsePlan(
      R"({"servers": 2, "jobs": [{"parts": [3], "begins_us": 7}], "faults": {"person": 1}})");
  ASSERT_TRUE(plan) << plan.error().reason;
  SimPlan wanted;
  wanted.servers = 2;
  PlannedJob& job = wanted.jobs.emplace_back();
  job.parts = {3};
  job.begins = Duration(7);
  wanted.faults.person = 1;
  EXPECT_TRUE(*plan == wanted) << FormatPlan(*plan);
}

std::string Refusal(std::string_view text) {
  const Result<SimPlan> plan = ParsePlan(text);
  return plan ? "none" : plan.error().reason;
}

TEST(PlanJson, SaysWhereAPlanIsWrong) {
  EXPECT_EQ(Refusal(R"({"sevrers": 2})"),
            "the plan: unknown field 'sevrers'; did you mean 'servers'?");
  EXPECT_TRUE(Refusal(R"({"faults": {"store": {"chaos": 1}}})")
                  .starts_with("faults.store: unknown field 'chaos'"));
  EXPECT_EQ(Refusal(R"({"pools": [{}, {"max": "many"}]})"), "pools[1].max: must be an integer");
  EXPECT_EQ(Refusal(R"({"pools": [{"spot": 1}]})"), "pools[0].spot: must be true or false");
  EXPECT_EQ(Refusal(R"({"pools": {}})"), "pools: must be an array");
  EXPECT_EQ(Refusal(R"({"script": []})"), "script: must be an object");
  EXPECT_EQ(Refusal(R"({"why": 1})"), "why: must be a string");
  EXPECT_EQ(Refusal(R"({"agents": 3000000000})"), "agents: is out of its range");
  EXPECT_EQ(Refusal(R"({"seed": -1})"), "seed: is out of its range");
  EXPECT_EQ(Refusal(R"({"chaos_us": -1})"), "chaos_us: must not be negative");
  EXPECT_EQ(Refusal(R"({"faults": {"person": -0.1}})"), "faults.person: must not be negative");
  EXPECT_EQ(Refusal(R"({"faults": {"person": true}})"), "faults.person: must be a number");
}

TEST(PlanJson, RefusesWhatNoRunCouldBeMadeOf) {
  EXPECT_EQ(Refusal(R"({"servers": 0})"), "servers: must be at least 1");
  EXPECT_EQ(Refusal(R"({"machines": -1})"), "machines: must not be negative");
  EXPECT_EQ(Refusal(R"({"jobs": [{}]})"), "jobs: each has parts of 1 to 2048 items");
  EXPECT_EQ(Refusal(R"({"jobs": [{"parts": [2049]}]})"), "jobs: each has parts of 1 to 2048 items");
  EXPECT_EQ(Refusal(std::string(kPlanBytes + 1, ' ')), "too long for a plan");
}

}  // namespace
}  // namespace tidemill
