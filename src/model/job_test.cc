// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/limits.h"
#include "model/outcome.h"

namespace tidemill {
namespace {

Job JobNamed(std::string name, std::int64_t number) {
  Job job;
  job.id = {number};
  job.spec.name = std::move(name);
  return job;
}

TEST(JobState, ComesBackFromItsName) {
  for (int i = 0; i <= static_cast<int>(JobState::kCancelled); ++i) {
    const auto state = static_cast<JobState>(i);
    EXPECT_EQ(ParseJobState(JobStateName(state)), state);
  }
  EXPECT_EQ(JobStateName(JobState::kDraft), "draft");
  EXPECT_EQ(JobStateName(JobState::kCancelled), "cancelled");
  for (const char* name : {"", "Draft", "draft ", "canceled", "done"}) {
    EXPECT_EQ(ParseJobState(name), std::nullopt) << name;
  }
}

TEST(Cause, HasANameOfItsOwn) {
  EXPECT_EQ(CauseName(Cause::kSucceeded), "succeeded");
  EXPECT_EQ(CauseName(Cause::kFailed), "failed");
  EXPECT_EQ(CauseName(Cause::kLost), "lost");
}

TEST(IsName, TakesWhatFitsInAPathALabelAndATag) {
  for (const char* name : {"a", "7", "render", "Render-2.1_final", "a-", "a.."}) {
    EXPECT_TRUE(IsName(name)) << name;
  }
  for (const char* name : {"", "-a", ".a", "_a", "..", "a b", "a/b", "a\n", "é", "a:b", "a%"}) {
    EXPECT_FALSE(IsName(name)) << name;
  }
  EXPECT_FALSE(IsName(std::string_view("a\0b", 3)));
}

TEST(IsName, TakesNamesUpToTheLimit) {
  EXPECT_TRUE(IsName(std::string(limits::kNameBytes, 'x')));
  EXPECT_FALSE(IsName(std::string(limits::kNameBytes + 1, 'x')));
}

TEST(PublicId, IsTheNameAndTheNumber) { EXPECT_EQ(PublicId(JobNamed("render", 7)), "render-7"); }

TEST(PublicId, MayHaveANameThatLooksLikeOne) {
  const auto parsed = ParsePublicId("render-7-12");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->name, "render-7");
  EXPECT_EQ(parsed->id, JobId{12});
}

TEST(PublicId, MayBeTheBareNumber) {
  const auto parsed = ParsePublicId("12");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->name, "");
  EXPECT_EQ(parsed->id, JobId{12});
}

TEST(PublicId, RefusesWhatNoJobIsCalled) {
  for (const char* text :
       {"", "-", "render", "07", "-7", "render-", "render-0", "render-07", "render-+7", "render- 7",
        "render-7 ", "render-7x", "render-x", "render-9223372036854775808", "ren/der-7",
        "render-99999999999999999999", ".render-7", "render-0x7"}) {
    EXPECT_FALSE(ParsePublicId(text).has_value()) << text;
  }
  EXPECT_FALSE(ParsePublicId(std::string(limits::kNameBytes + 1, 'x') + "-7").has_value());
}

RC_GTEST_PROP(PublicId, ComesBack, ()) {
  const auto tail = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("aZ09._-")));
  const std::string name = ("r" + tail).substr(0, limits::kNameBytes);
  const auto number =
      *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 1000),
                      rc::gen::inRange<std::int64_t>(1, std::numeric_limits<std::int64_t>::max()),
                      rc::gen::just(std::numeric_limits<std::int64_t>::max()));
  const auto parsed = ParsePublicId(PublicId(JobNamed(name, number)));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->name == name);
  RC_ASSERT(parsed->id == JobId{number});
}

TEST(SideBySide, IsOneOfEachJobAndThenInTurnWhatFits) {
  const std::map<JobId, Resources> needs = {{{1}, {1000, 0}}, {{2}, {1000, 0}}, {{3}, {3000, 0}}};
  using Slots = std::map<JobId, std::int64_t>;
  EXPECT_EQ(SideBySide({4000, 0}, {{{1}, 100}}, needs), (Slots{{{1}, 4}}));
  EXPECT_EQ(SideBySide({4000, 0}, {{{1}, 3}}, needs), (Slots{{{1}, 3}}));
  EXPECT_EQ(SideBySide({5000, 0}, {{{1}, 100}, {{2}, 100}}, needs), (Slots{{{1}, 3}, {{2}, 2}}));
  EXPECT_EQ(SideBySide({4000, 0}, {{{1}, 100}, {{3}, 1}}, needs), (Slots{{{1}, 1}, {{3}, 1}}));
  // More jobs than fit: each has something there.
  EXPECT_EQ(SideBySide({1000, 0}, {{{1}, 100}, {{2}, 100}}, needs), (Slots{{{1}, 1}, {{2}, 1}}));
  EXPECT_EQ(SideBySide({1000, 0}, {{{9}, 7}}, needs), (Slots{{{9}, 7}})) << "nobody knows its need";
}

TEST(SlotsIn, IsHowOftenTheScarcestResourceSuffices) {
  EXPECT_EQ(SlotsIn({8000, 100}, {1000, 10}), 8);
  EXPECT_EQ(SlotsIn({8000, 100}, {1000, 30}), 3);
  EXPECT_EQ(SlotsIn({8000, 100}, {3000, 1}), 2);
  EXPECT_EQ(SlotsIn({999, 100}, {1000, 1}), 0);
  EXPECT_EQ(SlotsIn({8000, 0}, {1000, 0}), 8);
}

TEST(SlotsIn, CountsDevicesThatAreWhatIsAskedFor) {
  DeviceCount asked = 2;
  EXPECT_EQ(SlotsIn({8000, 0, {{"gpu", 5}}}, {1000, 0, {{"gpu", asked}}}), 2);
  EXPECT_EQ(SlotsIn({8000, 0, {{"fpga", 5}}}, {1000, 0, {{"gpu", asked}}}), 0);
  asked.memory = 20;
  DeviceCount has = 5;
  EXPECT_EQ(SlotsIn({8000, 0, {{"gpu", has}}}, {1000, 0, {{"gpu", asked}}}), 0);
  has.memory = 20;
  EXPECT_EQ(SlotsIn({8000, 0, {{"gpu", has}}}, {1000, 0, {{"gpu", asked}}}), 2);
  Resources free{8000, 0, {{"gpu", has}}};
  Take(free, {1000, 0, {{"gpu", asked}}}, 2);
  has.count = 1;
  EXPECT_EQ(free.devices.at("gpu"), has) << "what is left is what it was";
}

TEST(SlotsIn, IsNeverBelowZeroNorWithoutEnd) {
  EXPECT_EQ(SlotsIn({-5000, 100}, {1000, 1}), 0);
  EXPECT_EQ(SlotsIn({8000, 100}, {0, 0}), std::numeric_limits<std::int32_t>::max());
}

}  // namespace
}  // namespace tidemill
