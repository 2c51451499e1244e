// SPDX-License-Identifier: Apache-2.0
#include "server/outlook.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/outlook_testing.h"
#include "server/server_test.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

// A queue, a pool with one machine of 4 cpus, and a job of so many items of one cpu.
Snapshot WorldOf(std::int64_t waiting) {
  Snapshot world;
  Queue queue;
  queue.name = "default";
  queue.pools = {"p"};
  world.queues = {queue};
  PlanPool pool;
  pool.name = "p";
  world.pools = {pool};
  PlanJob job;
  job.id = {7};
  job.name = "render-7";
  job.queue = "default";
  job.need = {1000, kOneGiB};
  job.waiting = waiting;
  world.jobs = {job};
  PlanMachine machine;
  machine.id = machine.name = "m1";
  machine.pool = "p";
  machine.state = MachineState::kJoined;
  machine.has = {4000, 16 * kOneGiB};
  world.machines = {machine};
  return world;
}

// Says on which side of the worker it is.
class MarkedWorker : public Worker {
 public:
  MarkedWorker(Loop& loop, Random& random) : inner_(loop, random) {}
  void Run(std::function<void()> work, std::function<void()> done) override {
    inner_.Run(
        [this, work = std::move(work)] {
          inside = true;
          work();
          inside = false;
        },
        std::move(done));
  }
  bool inside = false;

 private:
  VirtualWorker inner_;
};

class MarkedPlans : public HandPlans {
 public:
  explicit MarkedPlans(MarkedWorker& worker) : worker_(worker) {}
  Result<Snapshots> ReadSnapshots() override {
    EXPECT_TRUE(worker_.inside);
    return HandPlans::ReadSnapshots();
  }

 private:
  MarkedWorker& worker_;
};

class OutlookTest : public ::testing::Test {
 protected:
  using Answer = Result<std::shared_ptr<const Decided>>;

  OutlookTest() { plans_.snapshots = {TimePoint(std::chrono::hours(5)), {{"films", WorldOf(9)}}}; }

  // Those that were asked for and have come.
  void Ask(const std::string& project) {
    outlook_.Ask(project, [this](Answer answer) { answers_.push_back(std::move(answer)); });
  }
  Answer Await(const std::string& project) {
    answers_.clear();
    Ask(project);
    while (answers_.empty() && loop_.Step()) {
    }
    return answers_.empty() ? Answer(Fail(Code::kInternal, "no answer came")) : answers_.front();
  }
  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  SeededRandom random_{7};
  VirtualLoop loop_{random_};
  MarkedWorker worker_{loop_, random_};
  MemoryStore store_{[] { return std::int64_t{0}; }};
  ErrorLog log_;
  MarkedPlans plans_{worker_};
  const ServerDeps deps_{loop_, worker_, worker_, store_, store_, random_, log_, &plans_};
  Outlook outlook_{deps_};
  std::vector<Answer> answers_;
};

TEST_F(OutlookTest, DecidesAsTheLeaderDoes) {
  const Answer answer = Await("films");
  ASSERT_TRUE(answer) << answer.error().reason;
  const Decided& decided = **answer;
  EXPECT_EQ(decided.now, TimePoint(std::chrono::hours(5)));
  ASSERT_EQ(decided.plan.rows.size(), 1U);
  EXPECT_EQ(decided.plan.rows[0], (PlanRow{{7}, "p", 4, 0}));
  ASSERT_EQ(decided.wanted.pools.size(), 1U);
  const auto reasons = WhyJob(decided.context(), 0);
  ASSERT_FALSE(reasons.empty());
}

TEST_F(OutlookTest, ALookIsKeptForASecond) {
  EXPECT_TRUE(Await("films"));
  RunFor(std::chrono::milliseconds(900));
  EXPECT_TRUE(Await("films"));
  EXPECT_EQ(plans_.reads, 1);
  RunFor(std::chrono::milliseconds(200));
  plans_.snapshots.projects[0].snapshot.jobs[0].waiting = 2;
  const Answer answer = Await("films");
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)->snapshot.jobs[0].waiting, 2);
  EXPECT_EQ(plans_.reads, 2);
}

TEST_F(OutlookTest, ThoseWhoAskMeanwhileShareTheLook) {
  for (int i = 0; i < 50; ++i) Ask("films");
  EXPECT_TRUE(answers_.empty());
  while (answers_.size() < 50 && loop_.Step()) {
  }
  ASSERT_EQ(answers_.size(), 50U);
  for (const Answer& answer : answers_) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->get(), answers_[0]->get());
  }
  EXPECT_EQ(plans_.reads, 1);
}

TEST_F(OutlookTest, WhoKeepsALookKeepsItWhole) {
  const Answer old = Await("films");
  ASSERT_TRUE(old);
  plans_.snapshots.projects.clear();
  RunFor(std::chrono::seconds(2));
  const Answer gone = Await("films");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_EQ((*old)->snapshot.jobs[0].name, "render-7");
  EXPECT_FALSE(WhyJob((*old)->context(), 0).empty());
}

TEST_F(OutlookTest, AFailureIsToldToAllAndNotKept) {
  plans_.away = true;
  Ask("films");
  Ask("films");
  while (answers_.size() < 2 && loop_.Step()) {
  }
  ASSERT_EQ(answers_.size(), 2U);
  for (const Answer& answer : answers_) EXPECT_EQ(answer.error().code, Code::kUnavailable);
  plans_.away = false;
  EXPECT_TRUE(Await("films"));
  EXPECT_EQ(plans_.reads, 2);
}

TEST_F(OutlookTest, AServerThatDoesNotPlanSaysSo) {
  ServerDeps deps = deps_;
  deps.plans = nullptr;
  Outlook outlook(deps);
  std::optional<Answer> answer;
  outlook.Ask("films", [&](Answer got) { answer.emplace(std::move(got)); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace tidemill
