// SPDX-License-Identifier: Apache-2.0
// What all items of a job need is here before they run.
#include <string>
#include <vector>

#include "agent/agent_test.h"
#include "data/job_cache.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class PlayedCache : public JobCache {
 public:
  explicit PlayedCache(Loop& loop) : loop_(loop) {}
  void Get(const std::string& project, std::vector<CacheUse> uses, Done<Held> done) override {
    asked.push_back(project + " " + uses.at(0).name + " " + uses.at(0).url);
    loop_.After(takes, [this, done] { done(answer()); });
  }
  std::shared_ptr<const void> HoldEarlier() override { return std::move(earlier); }

  Duration takes = seconds(5);
  std::vector<std::string> asked;
  std::shared_ptr<const View> view =
      std::make_shared<View>(View{.paths = {{"w", "/cache/key/data"}}, .folder = "/cache/views/1"});
  std::function<Result<Held>()> answer = [this] { return view; };
  std::shared_ptr<const void> earlier = std::make_shared<char>();

 private:
  Loop& loop_;
};

class AgentCacheTest : public AgentTest {
 protected:
  void StartWithCache() {
    AgentOptions options;
    options.machine = "m1";
    options.shape = {4000, 8LL << 30};
    engine_ = std::make_unique<FakeEngine>(loop_, play_);
    AgentDeps deps{loop_, link_, *engine_, random_, log_, logs_, memory_};
    deps.cache = &cache_;
    agent_ = std::make_unique<Agent>(deps, options);
    agent_->Start();
  }
  void GrantsCached(std::uint64_t lease, int first, int count) {
    link_.documents[{1}] = R"({"command":["x"],"resources":{"cpus":1},"cache":{"w":"s3://m/w"}})";
    Grants(lease, first, count);
  }

  PlayedCache cache_{loop_};
};

TEST_F(AgentCacheTest, ItemsWaitForItAndItIsAskedForOnce) {
  int runs = 0;
  play_.run = [&](const ItemRun& run) {
    ++runs;
    EXPECT_EQ(run.env.back(), "TIDEMILL_CACHE=/cache/views/1");
    return FakeRun{};
  };
  StartWithCache();
  GrantsCached(1, 0, 4);
  GrantsCached(2, 4, 4);
  RunFor(seconds(4));
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(link_.outcomes.size(), 0U);
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 8U);
  EXPECT_EQ(cache_.asked, std::vector<std::string>{"films w s3://m/w"});
}

TEST_F(AgentCacheTest, OtherJobsRunMeanwhile) {
  cache_.takes = minutes(5);
  StartWithCache();
  GrantsCached(1, 0, 2);
  link_.documents[{2}] = R"({"command":["x"],"resources":{"cpus":1}})";
  Grants(2, 8, 2, JobId{2});
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 2U);
  ASSERT_FALSE(link_.last_status().jobs.empty());
  EXPECT_EQ(link_.last_status().jobs[0].waits_for, "fetching its cache");
  EXPECT_EQ(link_.given_back, 0);
}

TEST_F(AgentCacheTest, ItStaysWhileAContainerIsOpenAndNotLonger) {
  StartWithCache();
  GrantsCached(1, 0, 1);
  RunFor(seconds(9));
  EXPECT_EQ(link_.outcomes.size(), 1U);
  EXPECT_EQ(engine_->containers(), 1U);
  EXPECT_GT(cache_.view.use_count(), 1) << "the container is warm";
  RunFor(seconds(20));
  EXPECT_EQ(engine_->containers(), 0U);
  EXPECT_EQ(cache_.view.use_count(), 1);
}

TEST_F(AgentCacheTest, WhatCannotBeHadIsToldAndNoItemFails) {
  cache_.answer = []() -> Result<JobCache::Held> {
    return Fail(Code::kNotFound, "s3://m/w: no such object");
  };
  StartWithCache();
  GrantsCached(1, 0, 4);
  RunFor(seconds(10));
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_EQ(link_.given_back, 4);
  ASSERT_FALSE(link_.troubles.empty());
  EXPECT_EQ(link_.troubles[0].reason, "its cache could not be fetched: s3://m/w: no such object");
}

TEST_F(AgentCacheTest, AStoreThatIsAwayIsTriedAgainLater) {
  bool down = true;
  cache_.answer = [&]() -> Result<JobCache::Held> {
    if (down) return Fail(Code::kUnavailable, "no answer");
    return cache_.view;
  };
  StartWithCache();
  GrantsCached(1, 0, 4);
  RunFor(seconds(10));
  EXPECT_EQ(link_.given_back, 4);
  EXPECT_TRUE(link_.troubles.empty());
  down = false;
  RunFor(minutes(2));
  GrantsCached(2, 0, 4);
  RunFor(minutes(1));
  EXPECT_EQ(link_.outcomes.size(), 4U);
}

TEST_F(AgentCacheTest, WhatAnEarlierLifeHadIsHeldUntilItIsKnown) {
  const std::weak_ptr<const void> earlier = cache_.earlier;
  StartWithCache();
  EXPECT_FALSE(earlier.expired());
  RunFor(seconds(10));
  EXPECT_TRUE(earlier.expired());
}

}  // namespace
}  // namespace tidemill
