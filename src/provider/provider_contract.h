// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole contract of Provider, as sentences. A kind of provider runs it with
//
//   INSTANTIATE_TEST_SUITE_P(Fake, ProviderTest, testing::Values(ProviderMaker(...)));

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/token.h"
#include "provider/provider.h"

namespace tidemill {

// A provider and the world that it lives in.
class ProviderWorld {
 public:
  virtual ~ProviderWorld() = default;
  virtual Provider& provider() = 0;
  // What it takes until `is_true`, and a failure of the test after that; calls nothing from inside.
  virtual void RunUntil(const std::function<bool()>& is_true) = 0;
  // Goes on so long by the provider's clock.
  virtual void Pass(Duration time) = 0;
  virtual TimePoint Now() const = 0;
  // What a pool of this provider has to say for itself.
  virtual void Set(PoolSettings& /*pool*/) {}
  // From now on there may be no more machines at once in the pool.
  virtual void SetCapacity(PoolSettings& pool, std::int64_t machines) = 0;
  // The machine ends, and nobody has asked for it.
  virtual void Kill(const PoolSettings& pool, const std::string& name) = 0;
  // The process that calls the provider dies, and another goes on.
  virtual void Restart() = 0;
};
using ProviderMaker = std::function<std::unique_ptr<ProviderWorld>()>;

using Names = std::vector<std::string>;

class ProviderTest : public ::testing::TestWithParam<ProviderMaker> {
 protected:
  void SetUp() override {
    world_ = GetParam()();
    pool_ = PoolOf("spot");
    world_->Set(pool_);
    const auto prepared = Prepare(pool_);
    ASSERT_TRUE(prepared) << prepared.error().reason;
  }

  static PoolSettings PoolOf(const std::string& name) {
    PoolSettings pool;
    pool.pool.project = "films";
    pool.pool.name = name;
    pool.machines.shape = {1500, 256LL << 20};
    return pool;
  }

  Result<Refused> Make(const PoolSettings& pool, const std::vector<std::string>& names) {
    std::vector<MachineOrder> orders;
    for (const std::string& name : names) {
      orders.push_back({name, std::string(kJoinPrefix) + std::string(64, 'a')});
    }
    std::optional<Result<Refused>> answer;
    world_->provider().Make(pool, orders, [&](Result<Refused> given) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(given);
    });
    EXPECT_FALSE(answer) << "answered from inside";
    world_->RunUntil([&] { return answer.has_value(); });
    return *answer;
  }
  Result<void> Prepare(const PoolSettings& pool) {
    return Wait([&](auto done) { world_->provider().Prepare(pool, done); });
  }
  Result<void> Remove(const PoolSettings& pool) {
    return Wait([&](auto done) { world_->provider().Remove(pool, done); });
  }
  Result<void> Wait(const std::function<void(std::function<void(Result<void>)>)>& call) {
    std::optional<Result<void>> answer;
    call([&](Result<void> given) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(given);
    });
    EXPECT_FALSE(answer) << "answered from inside";
    world_->RunUntil([&] { return answer.has_value(); });
    return *answer;
  }
  void MakeAll(const std::vector<std::string>& names) {
    const auto made = Make(pool_, names);
    ASSERT_TRUE(made) << made.error().reason;
    EXPECT_EQ(made->words, "");
    EXPECT_TRUE(made->names.empty());
  }
  void End(const std::vector<std::string>& names) {
    const auto ended = Wait([&](auto done) { world_->provider().End(pool_, names, done); });
    EXPECT_TRUE(ended) << ended.error().reason;
  }
  // By name.
  std::vector<ListedAt> List(const PoolSettings& pool) {
    std::optional<Result<std::vector<ListedAt>>> answer;
    world_->provider().List(pool, [&](auto given) { answer = std::move(given); });
    EXPECT_FALSE(answer) << "answered from inside";
    world_->RunUntil([&] { return answer.has_value(); });
    EXPECT_TRUE(*answer) << answer->error().reason;
    if (!*answer) return {};
    std::sort(answer->value().begin(), answer->value().end(),
              [](const ListedAt& a, const ListedAt& b) { return a.name < b.name; });
    return **answer;
  }
  std::vector<std::string> There() {
    std::vector<std::string> names;
    for (const ListedAt& machine : List(pool_)) {
      if (!machine.ended) names.push_back(machine.name);
    }
    return names;
  }
  // Lists until so many have ended, as whoever leads does each second.
  std::vector<ListedAt> ListUntilEnded(std::ptrdiff_t count) {
    std::vector<ListedAt> listed;
    for (int i = 0; i < 600; ++i) {
      listed = List(pool_);
      const auto ended = std::count_if(listed.begin(), listed.end(),
                                       [](const ListedAt& one) { return one.ended.has_value(); });
      if (ended >= count) return listed;
      world_->Pass(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "they do not end";
    return listed;
  }

  std::unique_ptr<ProviderWorld> world_;
  PoolSettings pool_;
};

TEST_P(ProviderTest, MakesMachinesAndListsThemFromWhenTheyAreBilled) {
  const TimePoint before = world_->Now();
  MakeAll({"spot-1", "spot-2"});
  const TimePoint after = world_->Now();
  const auto listed = List(pool_);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].name, "spot-1");
  EXPECT_EQ(listed[1].name, "spot-2");
  for (const ListedAt& machine : listed) {
    EXPECT_FALSE(machine.ended);
    EXPECT_GE(machine.since, before);
    EXPECT_LE(machine.since, after);
  }
}

TEST_P(ProviderTest, WhatIsOrderedTwiceIsMadeOnce) {
  MakeAll({"spot-1"});
  const auto first = List(pool_);
  MakeAll({"spot-1", "spot-2", "spot-2"});
  const auto listed = List(pool_);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].since, first.at(0).since);
}

TEST_P(ProviderTest, APoolHasItsOwnMachines) {
  MakeAll({"spot-1"});
  PoolSettings dear = PoolOf("dear");
  PoolSettings elsewhere = PoolOf("spot");
  elsewhere.pool.project = "music";
  for (PoolSettings* other : {&dear, &elsewhere}) {
    world_->Set(*other);
    ASSERT_TRUE(Prepare(*other));
    EXPECT_TRUE(List(*other).empty());
  }
}

TEST_P(ProviderTest, WhatIsPreparedTwiceIsThereOnceAndIsTakenAwayWhenItIsEmpty) {
  MakeAll({"spot-1"});
  ASSERT_TRUE(Prepare(pool_));
  EXPECT_EQ(There(), Names{"spot-1"});
  End({"spot-1"});
  ListUntilEnded(1);
  ASSERT_TRUE(Remove(pool_));
  ASSERT_TRUE(Remove(pool_));
}

TEST_P(ProviderTest, EndsMachinesByName) {
  MakeAll({"spot-1", "spot-2"});
  End({"spot-2", "spot-7"});
  End({"spot-2"});
  const auto listed = ListUntilEnded(1);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_FALSE(listed[0].ended);
  ASSERT_TRUE(listed[1].ended);
  EXPECT_GE(*listed[1].ended, listed[1].since);
  EXPECT_LE(*listed[1].ended, world_->Now());
}

TEST_P(ProviderTest, AnEndIsSaidOnceAndForAll) {
  MakeAll({"spot-1"});
  End({"spot-1"});
  const auto ended = ListUntilEnded(1);
  world_->Pass(std::chrono::minutes(1));
  End({"spot-1"});
  MakeAll({"spot-1"});
  const auto later = List(pool_);
  ASSERT_EQ(later.size(), 1U);
  EXPECT_EQ(later[0].ended, ended[0].ended);
  EXPECT_EQ(later[0].since, ended[0].since);
}

TEST_P(ProviderTest, AMachineThatEndsByItselfIsListedAsEnded) {
  MakeAll({"spot-1", "spot-2"});
  world_->Kill(pool_, "spot-1");
  const auto listed = ListUntilEnded(1);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_TRUE(listed[0].ended);
  EXPECT_FALSE(listed[1].ended);
}

TEST_P(ProviderTest, TheEndedAreListedForAnHourAndNotForEver) {
  MakeAll({"spot-1"});
  world_->Kill(pool_, "spot-1");
  ListUntilEnded(1);
  world_->Pass(std::chrono::minutes(58));
  EXPECT_EQ(List(pool_).size(), 1U);
  world_->Pass(std::chrono::minutes(5));
  EXPECT_EQ(List(pool_).size(), 0U);
}

TEST_P(ProviderTest, WithoutCapacityItMakesWhatItCanAndSaysWhy) {
  world_->SetCapacity(pool_, 2);
  const auto made = Make(pool_, {"spot-1", "spot-2", "spot-3", "spot-4"});
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_EQ(made->names, (Names{"spot-3", "spot-4"}));
  EXPECT_NE(made->words, "");
  EXPECT_EQ(There(), (Names{"spot-1", "spot-2"}));
  // What is there is not refused.
  const auto again = Make(pool_, {"spot-1", "spot-3"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->names, Names{"spot-3"});
  // Room that is given up can be had.
  End({"spot-1"});
  ListUntilEnded(1);
  MakeAll({"spot-3"});
  EXPECT_EQ(There(), (Names{"spot-2", "spot-3"}));
}

TEST_P(ProviderTest, MachinesOutliveWhoeverMadeThem) {
  MakeAll({"spot-1", "spot-2"});
  const auto before = List(pool_);
  world_->Restart();
  const auto after = List(pool_);
  ASSERT_EQ(after.size(), 2U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].since, before[i].since);
    EXPECT_FALSE(after[i].ended);
  }
  MakeAll({"spot-1"});
  End({"spot-1"});
  const auto listed = ListUntilEnded(1);
  EXPECT_TRUE(listed.at(0).ended);
  EXPECT_FALSE(listed.at(1).ended);
}

}  // namespace tidemill
