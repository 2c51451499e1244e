// SPDX-License-Identifier: Apache-2.0
#include "server/http/log_leads.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

constexpr char kPack[] = "s2/000001";

LogLead Lead(ItemState state, std::vector<Outcome> outcomes = {}) {
  LogLead lead;
  lead.state = state;
  lead.outcomes = std::move(outcomes);
  return lead;
}

Outcome Ended(std::int32_t attempt, const std::string& log) {
  Outcome outcome;
  outcome.attempt = attempt;
  outcome.log = log;
  return outcome;
}

TEST(ChooseLog, TakesTheNewestOutcome) {
  const LogLead lead = Lead(ItemState::kSucceeded, {Ended(1, "s1/000000"), Ended(2, kPack)});
  const LogChoice choice = ChooseLog(lead, {});
  EXPECT_EQ(choice.attempt, 2);
  EXPECT_EQ(choice.last_pack, kPack);
  EXPECT_TRUE(choice.has_end);
  EXPECT_EQ(ChooseLog(lead, {.attempt = 1}).last_pack, "s1/000000");
}

TEST(ChooseLog, KnowsOneThatHasWrittenNothing) {
  const LogChoice choice = ChooseLog(Lead(ItemState::kFailed, {Ended(1, "")}), {});
  EXPECT_TRUE(choice.silent);
  EXPECT_FALSE(choice.has_end);
}

TEST(ChooseLog, LooksEverywhereForOneThatRuns) {
  const LogChoice choice = ChooseLog(Lead(ItemState::kRunning, {Ended(1, kPack)}), {});
  EXPECT_FALSE(choice.attempt);
  EXPECT_EQ(choice.last_pack, "");
  EXPECT_FALSE(choice.has_end);
}

// Packs of several machines have it, and its end is worth waiting for.
TEST(ChooseLog, WaitsForTheEndOfOneThatWasLostBefore) {
  LogLead lead = Lead(ItemState::kSucceeded, {Ended(1, kPack)});
  lead.was_lost = true;
  const LogChoice choice = ChooseLog(lead, {});
  EXPECT_EQ(choice.last_pack, "");
  EXPECT_TRUE(choice.has_end);
  EXPECT_FALSE(choice.silent);
  lead.outcomes = {Ended(1, "")};
  EXPECT_FALSE(ChooseLog(lead, {}).has_end);
  lead.state = ItemState::kWaiting;
  lead.outcomes = {Ended(1, kPack)};
  EXPECT_FALSE(ChooseLog(lead, {}).has_end);
}

}  // namespace
}  // namespace tidemill
