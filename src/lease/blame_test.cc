// SPDX-License-Identifier: Apache-2.0
#include "lease/blame.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

struct Facts {
  std::int64_t attempts = 0;
  std::int64_t blamed = 0;
  bool aside = false;
};

// Which of the machines of one pool are put aside, by their places.
std::vector<std::uint64_t> Aside(const std::vector<Facts>& machines) {
  std::vector<MachineRecord> records;
  for (const Facts& facts : machines) {
    MachineRecord& record = records.emplace_back();
    record.session = {0, records.size() - 1};
    record.pool = "default/spot";
    record.attempts = facts.attempts;
    record.blamed = facts.blamed;
    record.aside = facts.aside;
  }
  std::vector<std::uint64_t> places;
  for (const MachineRecord& record : ToPutAside(records)) places.push_back(record.session.low);
  return places;
}

using Places = std::vector<std::uint64_t>;

TEST(Blame, AMachineThatFailsWhatSucceedsElsewhereGoes) {
  EXPECT_EQ(Aside({{30, 3}, {500, 0}}), Places{0});
  EXPECT_EQ(Aside({{31, 3}, {500, 0}}), Places{});  // less than a tenth
  EXPECT_EQ(Aside({{2, 2}, {500, 0}}), Places{});   // chance
}

TEST(Blame, TheLastMachineStays) {
  EXPECT_EQ(Aside({{30, 30}}), Places{});
  EXPECT_EQ(Aside({{30, 30}, {40, 40}}).size(), 1u);
  EXPECT_EQ(Aside({{30, 30}, {40, 40, true}}), Places{});
}

TEST(Blame, NoMoreThanAQuarterOfAPoolTheWorstFirst) {
  EXPECT_EQ(Aside({{30, 10}, {30, 30}, {30, 20}, {9, 0}}), Places{1});
  EXPECT_EQ(Aside({{30, 10}, {30, 30}, {30, 20}, {9, 0}, {9, 0}, {9, 0}, {9, 0}, {9, 0}}),
            (Places{1, 2}));
  EXPECT_EQ(Aside({{30, 10}, {30, 30, true}, {30, 20}, {9, 0}, {9, 0}, {9, 0}, {9, 0}, {9, 0}}),
            Places{2});
}

TEST(Blame, PoolsAreCountedApart) {
  std::vector<MachineRecord> records(4);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].session = {0, i};
    records[i].pool = i < 2 ? "a/x" : "b/x";
    records[i].attempts = 10;
    records[i].blamed = i % 2 == 0 ? 5 : 0;
  }
  EXPECT_EQ(ToPutAside(records).size(), 2u);
}

TEST(Blame, SaysWhy) {
  MachineRecord record;
  record.blamed = 4;
  EXPECT_EQ(AsideReason(record), "4 items failed here and succeeded on other machines");
}

}  // namespace
}  // namespace tidemill
