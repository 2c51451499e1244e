// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/gcp_provider.h"

#include <stdlib.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "provider/gcp/gcp_testing.h"

namespace tidemill {

std::string GceHost() {
  const char* const host = getenv("TIDEMILL_TEST_GCE");
  if (host == nullptr) throw std::runtime_error("run under tools/with_gce.py");
  return host;
}

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

ProviderMaker MakerOf(GceWorld::Kind kind) {
  return [kind] { return std::make_unique<GceWorld>(kind); };
}
INSTANTIATE_TEST_SUITE_P(Standard, ProviderTest,
                         testing::Values(MakerOf(GceWorld::Kind::kStandard)));
INSTANTIATE_TEST_SUITE_P(Spot, ProviderTest, testing::Values(MakerOf(GceWorld::Kind::kSpot)));
INSTANTIATE_TEST_SUITE_P(Adopted, ProviderTest, testing::Values(MakerOf(GceWorld::Kind::kAdopted)));

// What it does when Google is short, busy or slow, and when others change things.
class GcpProviderTest : public ::testing::Test {
 protected:
  void Begin(GceWorld::Kind kind = GceWorld::Kind::kSpot) {
    world_ = std::make_unique<GceWorld>(kind);
    pool_.pool.project = "films";
    pool_.pool.name = "spot";
    world_->Set(pool_);
    const auto prepared = Prepare();
    ASSERT_TRUE(prepared) << prepared.error().reason;
  }

  template <typename T, typename Call>
  Result<T> Wait(Call call) {
    std::optional<Result<T>> answer;
    call([&](Result<T> given) { answer = std::move(given); });
    world_->RunUntil([&] { return answer.has_value(); });
    return answer ? *answer : Fail(Code::kInternal, "no answer");
  }
  Result<void> Prepare() {
    return Wait<void>([&](auto done) { world_->provider().Prepare(pool_, done); });
  }
  Result<void> Remove() {
    return Wait<void>([&](auto done) { world_->provider().Remove(pool_, done); });
  }
  static std::vector<MachineOrder> Orders(const Names& names) {
    std::vector<MachineOrder> orders;
    for (const std::string& name : names) orders.push_back({name, "token"});
    return orders;
  }
  Result<Refused> Make(const Names& names) {
    return Wait<Refused>([&](auto done) { world_->provider().Make(pool_, Orders(names), done); });
  }
  Result<void> End(const Names& names) {
    return Wait<void>([&](auto done) { world_->provider().End(pool_, names, done); });
  }
  Result<std::vector<ListedAt>> List() {
    return Wait<std::vector<ListedAt>>([&](auto done) { world_->provider().List(pool_, done); });
  }
  std::vector<ListedAt> ListUntilEnded(std::ptrdiff_t count) {
    for (int i = 0; i < 200; ++i) {
      const auto listed = List();
      EXPECT_TRUE(listed) << listed.error().reason;
      const auto ended = std::count_if(listed->begin(), listed->end(),
                                       [](const ListedAt& one) { return one.ended.has_value(); });
      if (ended >= count) return *listed;
      world_->Pass(milliseconds(200));
    }
    ADD_FAILURE() << "they do not end";
    return {};
  }
  void ListUntil(const std::function<bool()>& is_true) {
    for (int i = 0; i < 200 && !is_true(); ++i) {
      EXPECT_TRUE(List());
      world_->Pass(milliseconds(200));
    }
    EXPECT_TRUE(is_true());
  }
  std::string Group() const { return GcpNames("films", "spot").group(); }
  std::string GroupPathOf(const std::string& name) const {
    return std::string("/zones/") + kGceZone + "/instanceGroupManagers/" + name;
  }

  std::unique_ptr<GceWorld> world_;
  PoolSettings pool_;
};

TEST_F(GcpProviderTest, ANewProcessKnowsWhatEndedFromTheZonesOperations) {
  Begin();
  ASSERT_TRUE(Make({"spot-1", "spot-2"}));
  world_->Kill(pool_, "spot-1");
  ASSERT_TRUE(End({"spot-2"}));
  const auto before = ListUntilEnded(2);
  world_->Restart();
  const auto after = List();
  ASSERT_TRUE(after);
  ASSERT_EQ(after->size(), 2U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ((*after)[i].ended, before.at(i).ended);
    EXPECT_EQ((*after)[i].since, before.at(i).since);
    EXPECT_EQ((*after)[i].id, before.at(i).id);
  }
  world_->Restart();
  ASSERT_TRUE(Make({"spot-1"}));
  EXPECT_TRUE(world_->Has("instances").empty());
}

TEST_F(GcpProviderTest, WhatItsGroupMadeAnewWhileNobodyLookedHasEndedAndLeaves) {
  Begin(GceWorld::Kind::kAdopted);
  ASSERT_TRUE(Make({"spot-1"}));
  const auto before = List();
  world_->Kill(pool_, "spot-1");
  world_->RunUntil([&] { return world_->Has("instances").empty(); });
  world_->RunUntil([&] { return !world_->Has("instances").empty(); });
  world_->Restart();
  const auto after = ListUntilEnded(1);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].since, before->at(0).since);
  ListUntil([&] { return world_->TargetOf("own-films-spot") == 0; });
  ListUntil([&] { return world_->Has("instances").empty(); });
}

TEST_F(GcpProviderTest, CallsThatAreTooManyAreMadeAgainLater) {
  Begin();
  world_->Control(R"("throttle":[429,503,403])");
  const auto made = Make({"spot-1"});
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_EQ(world_->Has("instances").size(), 1U);
  world_->Pass(minutes(1));
  world_->Control(R"("throttle":[429,429,429,403,429,429])");
  const std::size_t calls = world_->CountCalls("listManagedInstances");
  const auto listed = List();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::kUnavailable);
  EXPECT_NE(listed.error().reason.find("Rate Limit Exceeded"), std::string::npos);
  EXPECT_EQ(world_->CountCalls("listManagedInstances"), calls + 4);
}

TEST_F(GcpProviderTest, WhoMayNotIsToldInGooglesWords) {
  Begin();
  world_->Control(R"("forbidden":true)");
  const auto made = Make({"spot-1"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kForbidden);
  EXPECT_NE(made.error().reason.find("compute.instances.list"), std::string::npos);
}

TEST_F(GcpProviderTest, AQuotaIsSaidAndTheGroupDoesNotGoOnTrying) {
  Begin();
  world_->Control(R"("quota":1)");
  const auto made = Make({"spot-1", "spot-2"});
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_EQ(made->names, Names{"spot-2"});
  EXPECT_EQ(made->quota, 1);
  EXPECT_NE(made->words.find("QUOTA_EXCEEDED: Quota 'CPUS' exceeded"), std::string::npos);
  EXPECT_EQ(world_->TargetOf(Group()), 1);
  world_->Control(R"("quota":null,"capacity":1)");
  const auto again = Make({"spot-3"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->quota, std::nullopt);
  EXPECT_NE(again->words.find("ZONE_RESOURCE_POOL_EXHAUSTED"), std::string::npos);
  EXPECT_EQ(world_->TargetOf(Group()), 1);
}

TEST_F(GcpProviderTest, WhatNobodyOrderedLeavesTheGroupAfterFiveMinutes) {
  Begin();
  ASSERT_TRUE(Make({"spot-1"}));
  world_->Somebody("POST", GroupPathOf(Group()) + "/resize?size=2", "");
  world_->RunUntil([&] { return world_->Has("instances").size() == 2; });
  world_->Pass(minutes(1));
  EXPECT_EQ(List()->size(), 1U);
  world_->Pass(minutes(4));
  EXPECT_EQ(List()->size(), 1U);
  EXPECT_EQ(world_->TargetOf(Group()), 2);
  world_->Pass(minutes(1));
  ListUntil([&] { return world_->TargetOf(Group()) == 1; });
  ListUntil(
      [&] { return world_->Has("instances") == Names{GceWorld::InstanceOf(pool_, "spot-1")}; });
}

TEST_F(GcpProviderTest, InAGroupOfSomebodyElseTheOthersStay) {
  Begin(GceWorld::Kind::kAdopted);
  world_->Somebody("POST", GroupPathOf("own-films-spot") + "/resize?size=1", "");
  world_->RunUntil([&] { return world_->Has("instances").size() == 1; });
  EXPECT_TRUE(List()->empty());
  world_->Pass(minutes(10));
  EXPECT_TRUE(List()->empty());
  ASSERT_TRUE(Remove());
  EXPECT_EQ(world_->TargetOf("own-films-spot"), 1);
  EXPECT_EQ(world_->CountCalls("deleteInstances"), 0U);
}

TEST_F(GcpProviderTest, AChangedPoolGetsANewTemplateAndTheOldOneGoes) {
  Begin();
  const Names first = world_->Has("templates");
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(world_->CountCalls("POST global/instanceTemplates"), 1U);
  ASSERT_TRUE(Make({"spot-1"}));
  const auto before = List();
  pool_.machines.options.replace(pool_.machines.options.find("e2-standard-4"), 13, "n2-standard-8");
  const auto changed = Prepare();
  ASSERT_TRUE(changed) << changed.error().reason;
  const Names second = world_->Has("templates");
  ASSERT_EQ(second.size(), 1U);
  EXPECT_NE(second, first);
  EXPECT_EQ(world_->CountCalls("setInstanceTemplate"), 1U);
  // Its machines stay.
  EXPECT_EQ(List()->at(0).since, before->at(0).since);
}

TEST_F(GcpProviderTest, AGroupWithMachinesIsNotTakenAway) {
  Begin();
  ASSERT_TRUE(Make({"spot-1"}));
  const auto refused = Remove();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(world_->Has("instances").size(), 1U);
  ASSERT_TRUE(End({"spot-1"}));
  const auto removed = Remove();
  ASSERT_TRUE(removed) << removed.error().reason;
  EXPECT_TRUE(world_->Has("templates").empty());
  EXPECT_EQ(world_->TargetOf(Group()), -1);
  EXPECT_TRUE(End({"spot-1"}));
}

TEST_F(GcpProviderTest, AllPagesAreRead) {
  Begin();
  ASSERT_TRUE(Make({"spot-1", "spot-2", "spot-3", "spot-4", "spot-5", "spot-6", "spot-7"}));
  EXPECT_EQ(List()->size(), 7U);
  world_->Restart();
  EXPECT_EQ(List()->size(), 7U);
}

TEST_F(GcpProviderTest, AListIsKeptForAMomentWhileNothingHappens) {
  Begin();
  ASSERT_TRUE(Make({"spot-1"}));
  world_->Pass(minutes(1));
  ASSERT_TRUE(List());
  const std::size_t calls = world_->CountCalls("listManagedInstances");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(List());
  EXPECT_EQ(world_->CountCalls("listManagedInstances"), calls);
  world_->Pass(std::chrono::seconds(6));
  ASSERT_TRUE(List());
  EXPECT_GT(world_->CountCalls("listManagedInstances"), calls);
}

TEST_F(GcpProviderTest, TwoServersThatMakeTheSameMakeItOnce) {
  Begin();
  const auto other = world_->Another();
  std::vector<Result<Refused>> answers;
  for (Provider* provider : {&world_->provider(), static_cast<Provider*>(other.get())}) {
    provider->Make(pool_, Orders({"spot-1", "spot-2", "spot-3"}),
                   [&](Result<Refused> given) { answers.push_back(std::move(given)); });
  }
  world_->RunUntil([&] { return answers.size() == 2; });
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().reason;
    EXPECT_TRUE(answer->names.empty());
  }
  EXPECT_EQ(world_->Has("instances").size(), 3U);
  EXPECT_EQ(world_->TargetOf(Group()), 3);
}

TEST_F(GcpProviderTest, ItAnswersInTimeAlsoWhenGoogleDoesNot) {
  Begin();
  world_->options.limit = milliseconds(3'000);
  world_->Restart();
  world_->Control(R"("operation_s":3600)");
  const auto made = Make({"spot-1"});
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_TRUE(made->names.empty());
  EXPECT_TRUE(List()->empty());
  world_->Pass(std::chrono::hours(2));
  ASSERT_TRUE(Make({"spot-1"}));
  EXPECT_EQ(List()->size(), 1U);
  EXPECT_EQ(world_->CountCalls("createInstances"), 1U);
}

TEST_F(GcpProviderTest, WhatIsWrongWithAPoolIsSaid) {
  Begin();
  pool_.machines.options = R"({"project":")" + world_->project + R"(","zone":"z","group":"none"})";
  const auto none = Prepare();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalid);
  EXPECT_NE(none.error().reason.find("the group 'none'"), std::string::npos);
  pool_.machines.options = R"({"zones":["a"]})";
  EXPECT_EQ(Prepare().error().code, Code::kInvalid);
  EXPECT_EQ(Make({"spot-1"}).error().code, Code::kInvalid);
  EXPECT_EQ(End({"spot-1"}).error().code, Code::kInvalid);
  EXPECT_EQ(List().error().code, Code::kInvalid);
  EXPECT_EQ(Remove().error().code, Code::kInvalid);
}

TEST_F(GcpProviderTest, ClearTextIsForThisMachineOnly) {
  Begin();
  world_->world.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] =
      "http://10.0.0.1/compute/v1";
  world_->Restart();
  const auto listed = List();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::kInvalid);
}

TEST_F(GcpProviderTest, WhatIsUnderWayWhenItEndsIsNotAnswered) {
  Begin();
  bool answered = false;
  auto other = world_->Another();
  other->Make(pool_, Orders({"spot-1"}), [&](const auto&) { answered = true; });
  other->List(pool_, [&](const auto&) { answered = true; });
  other->Remove(pool_, [&](const auto&) { answered = true; });
  other.reset();
  ASSERT_TRUE(Make({"spot-2"}));
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace tidemill
