// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <set>

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "report/block.h"
#include "store/check.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A store that cannot stand the syncs of some sessions.
class TouchyStore : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  Result<ExchangeResult> Run(const Exchange& exchange) override {
    ++runs;
    if (away) return Fail(Code::kUnavailable, "away");
    for (const SyncOrder& order : exchange.syncs) {
      if (poison.contains(order.session)) return Fail(Code::kInternal, "a broken rule");
    }
    return MemoryStore::Run(exchange);
  }
  std::set<SessionId> poison;
  bool away = false;
  int runs = 0;
};

class ErrorLog : public Log {
 public:
  std::vector<std::string> errors;

 protected:
  void Write(std::string_view level, std::string_view event, Fields) override {
    if (level == "error") errors.emplace_back(event);
  }
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { server_.Start(); }
  ~ServerTest() override {
    const Result<std::vector<std::string>> breaches = CheckStore(store_);
    EXPECT_TRUE(breaches && breaches->empty());
  }

  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  // The answer to a call, once it has come.
  template <typename T, typename Call>
  Result<T> Await(Call call) {
    std::optional<Result<T>> answer;
    call([&answer](Result<T> result) { answer.emplace(std::move(result)); });
    for (int i = 0; i < 100'000 && !answer; ++i) loop_.Step();
    return answer ? *answer : Result<T>(Fail(Code::kInternal, "no answer came"));
  }

  JobId SubmitRange(std::int64_t items, int retries = 0) {
    const NewJob job{
        .project = "default",
        .key = "key-" + std::to_string(++keys_),
        .spec = {.name = "job", .resources = {1000, 0}, .retries = retries, .document = "{}"}};
    const Result<Job> created =
        Await<Job>([&](Reply<Job> reply) { server_.jobs().Create(job, std::move(reply)); });
    const JobId id = created->id;
    EXPECT_TRUE(Await<Job>([&](Reply<Job> reply) {
      server_.jobs().AddPart(id, {.number = 0, .text = {}, .range_items = items}, std::move(reply));
    }));
    EXPECT_TRUE(
        Await<Job>([&](Reply<Job> reply) { server_.jobs().Seal(id, 1, std::move(reply)); }));
    RunFor(milliseconds(500));
    return id;
  }

  SessionId Join() {
    const SessionId id = random_.NewId<SessionId>();
    EXPECT_TRUE(Await<Session>([&](Reply<Session> reply) {
      server_.Join({id, "machine", "default", {4000, 0}}, std::move(reply));
    }));
    return id;
  }

  SyncRequest SyncOf(SessionId session) {
    SyncRequest request;
    request.session = session;
    request.free = {4000, 0};
    return request;
  }

  Result<SyncResult> Sync(const SyncRequest& request) {
    return Await<SyncResult>(
        [&](Reply<SyncResult> reply) { server_.Sync(request, std::move(reply)); });
  }

  // Settles all of a lease as succeeded, with its rows.
  static Settlement Succeed(const Grant& grant) {
    Settlement settlement;
    settlement.lease = grant.lease.id;
    std::vector<Outcome> outcomes;
    for (const int offset : grant.lease.mine.Indexes()) {
      settlement.ok.Set(offset);
      Outcome& outcome = outcomes.emplace_back();
      outcome.item = grant.first_item + offset;
      outcome.duration_ms = 100;
    }
    settlement.body = EncodeBlock(outcomes);
    return settlement;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  TouchyStore store_{[this] { return loop_.Now().time_since_epoch().count(); }};
  ErrorLog log_;
  Server server_{{loop_, worker_, worker_, store_, random_, log_}, ServerLimits{}};
  int keys_ = 0;
};

TEST_F(ServerTest, CarriesSyncsThatComeTogetherOutAsOneTransaction) {
  std::vector<SessionId> sessions;
  for (int i = 0; i < 50; ++i) sessions.push_back(Join());
  SubmitRange(1000);
  const int before = store_.runs;
  int answered = 0;
  for (const SessionId& session : sessions) {
    server_.Sync(SyncOf(session), [&answered](Result<SyncResult> result) {
      EXPECT_TRUE(result);
      EXPECT_EQ(result->grants.size(), 1u);
      ++answered;
    });
  }
  RunFor(milliseconds(100));
  EXPECT_EQ(answered, 50);
  EXPECT_EQ(store_.runs - before, 1);
}

TEST_F(ServerTest, LetsASyncThatOnlyShowsLifeWaitForOthers) {
  const SessionId first = Join();
  const SessionId second = Join();
  const int before = store_.runs;
  int answered = 0;
  server_.Sync(SyncOf(first), [&answered](Result<SyncResult>) { ++answered; });
  RunFor(milliseconds(100));
  EXPECT_EQ(answered, 0);
  server_.Sync(SyncOf(second), [&answered](Result<SyncResult>) { ++answered; });
  RunFor(milliseconds(150));
  EXPECT_EQ(answered, 2);
  EXPECT_EQ(store_.runs - before, 1);
}

TEST_F(ServerTest, WakesWaitingAgentsForANewJob) {
  int woken = 0;
  for (int i = 0; i < 20; ++i) {
    const SessionId session = Join();
    ASSERT_TRUE(Sync(SyncOf(session)));
    server_.Wait(session, seconds(25), [&woken](Result<bool> sync_now) { woken += *sync_now; });
  }
  RunFor(seconds(1));
  EXPECT_EQ(woken, 0);
  SubmitRange(1000);
  RunFor(seconds(1));
  EXPECT_EQ(woken, 20);
}

TEST_F(ServerTest, WakesNoMoreAgentsThanThereAreItems) {
  int woken = 0;
  for (int i = 0; i < 20; ++i) {
    const SessionId session = Join();
    server_.Wait(session, seconds(25), [&woken](Result<bool> sync_now) { woken += *sync_now; });
  }
  SubmitRange(3);
  EXPECT_EQ(woken, 3);
}

TEST_F(ServerTest, AnswersAWaitWithNothingWhenItsTimeIsOver) {
  const SessionId session = Join();
  std::optional<bool> sync_now;
  server_.Wait(session, seconds(5), [&sync_now](Result<bool> answer) { sync_now = *answer; });
  RunFor(seconds(4));
  EXPECT_FALSE(sync_now);
  RunFor(seconds(2));
  ASSERT_TRUE(sync_now);
  EXPECT_FALSE(*sync_now);
}

TEST_F(ServerTest, TellsAnAgentThatBeginsToWaitOfWorkThatPassedItBy) {
  const SessionId session = Join();
  ASSERT_TRUE(Sync(SyncOf(session)));
  SubmitRange(100);
  bool sync_now = false;
  server_.Wait(session, seconds(25), [&sync_now](Result<bool> answer) { sync_now = *answer; });
  EXPECT_TRUE(sync_now);
}

TEST_F(ServerTest, DoesNotWakeAnAgentThatHasNoRoom) {
  const SessionId session = Join();
  SyncRequest full = SyncOf(session);
  full.free = {0, 0};
  ASSERT_TRUE(Sync(full));
  bool answered = false;
  server_.Wait(session, seconds(25), [&answered](Result<bool>) { answered = true; });
  SubmitRange(100);
  RunFor(seconds(5));
  EXPECT_FALSE(answered);
}

TEST_F(ServerTest, ReapsNobodyForASilenceInWhichSyncsFailed) {
  const SessionId session = Join();
  SubmitRange(4);
  ASSERT_EQ(Sync(SyncOf(session))->grants.size(), 1u);
  RunFor(seconds(50));
  store_.away = true;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Sync(SyncOf(session)));
    RunFor(seconds(9));
  }
  store_.away = false;
  RunFor(seconds(20));
  EXPECT_TRUE(Sync(SyncOf(session)));
}

TEST_F(ServerTest, ReapsTheSilentThoughAnotherAgentsSyncsBreakARule) {
  const SessionId silent = Join();
  const SessionId bad = Join();
  store_.poison = {bad};
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(Sync(SyncOf(bad)).error().code, Code::kInternal);
    RunFor(seconds(5));
  }
  EXPECT_EQ(Sync(SyncOf(silent)).error().code, Code::kLost);
}

TEST_F(ServerTest, RefusesSyncsThatWouldTakeTooMuchMemory) {
  const SessionId session = Join();
  SyncRequest large = SyncOf(session);
  large.settlements.resize(1);
  large.settlements[0].body.assign(40 << 20, 'x');
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    server_.Sync(large, [&refused](Result<SyncResult> result) {
      refused += !result && result.error().code == Code::kExhausted ? 1 : 0;
    });
  }
  RunFor(seconds(1));
  EXPECT_EQ(refused, 2);
}

TEST_F(ServerTest, RunsABatchThatFailsOneByOneAndRaisesAnAlarmForTheOneThatFailsAlone) {
  const SessionId good = Join();
  const SessionId bad = Join();
  const SessionId also_good = Join();
  SubmitRange(100);
  store_.poison = {bad};
  std::map<SessionId, bool> answers;
  for (const SessionId& session : {good, bad, also_good}) {
    server_.Sync(SyncOf(session), [&answers, session](Result<SyncResult> result) {
      answers[session] = result.has_value();
    });
  }
  RunFor(milliseconds(200));
  EXPECT_EQ(answers, (std::map<SessionId, bool>{{good, true}, {bad, false}, {also_good, true}}));
  EXPECT_EQ(log_.errors, std::vector<std::string>{"exchange.failed"});
}

TEST_F(ServerTest, TellsAgentsToComeBackWhileTheStoreIsAway) {
  const SessionId session = Join();
  store_.away = true;
  EXPECT_EQ(Sync(SyncOf(session)).error().code, Code::kUnavailable);
  store_.away = false;
  EXPECT_TRUE(Sync(SyncOf(session)));
}

TEST_F(ServerTest, TellsAnAgentWhoseSessionHasEndedToJoinAgain) {
  EXPECT_EQ(Sync(SyncOf(random_.NewId<SessionId>())).error().code, Code::kLost);
}

TEST_F(ServerTest, FinishesAJobWhenItsLastItemIsSettled) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4);
  Result<SyncResult> result = Sync(SyncOf(session));
  ASSERT_TRUE(result && result->grants.size() == 1);
  SyncRequest request = SyncOf(session);
  request.settlements = {Succeed(result->grants[0])};
  ASSERT_TRUE(Sync(request));
  RunFor(seconds(2));
  EXPECT_EQ(store_.FindJob(job)->state, JobState::kFinished);
}

TEST_F(ServerTest, AnswersEverySyncThatItTookBeforeItStops) {
  const SessionId session = Join();
  bool answered = false;
  bool stopped = false;
  server_.Sync(SyncOf(session), [&answered](Result<SyncResult> result) {
    EXPECT_TRUE(result);
    answered = true;
  });
  server_.Stop([&] {
    EXPECT_TRUE(answered);
    stopped = true;
  });
  EXPECT_EQ(Sync(SyncOf(session)).error().code, Code::kUnavailable);
  RunFor(seconds(1));
  EXPECT_TRUE(stopped);
}

TEST_F(ServerTest, EndsTheSessionOfASilentAgentAndGivesItsItemsToAnother) {
  const SessionId silent = Join();
  const JobId job = SubmitRange(4);
  ASSERT_EQ(Sync(SyncOf(silent))->grants.size(), 1u);
  RunFor(seconds(150));
  const SessionId other = Join();
  EXPECT_EQ(Sync(SyncOf(other))->grants.size(), 1u);
  EXPECT_EQ(Sync(SyncOf(silent)).error().code, Code::kLost);
  EXPECT_EQ(store_.CountItems(job)->counts.running, 4);
}

TEST_F(ServerTest, CancelsAJobWhileItsItemsRun) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4);
  const Result<SyncResult> result = Sync(SyncOf(session));
  ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) { server_.jobs().Cancel(job, std::move(reply)); }));
  RunFor(seconds(3));
  EXPECT_EQ(store_.FindJob(job)->state, JobState::kCancelled);
  SyncRequest request = SyncOf(session);
  request.known = {result->grants[0].lease.id};
  EXPECT_EQ(Sync(request)->gone, request.known);
}

TEST_F(ServerTest, ShowsAChangeThatWentThroughItAtOnce) {
  const JobId job = SubmitRange(4);
  const auto shown = [&] {
    return Await<JobCounts>([&](Reply<JobCounts> reply) { server_.jobs().Show(job, reply); })
        ->job.state;
  };
  EXPECT_EQ(shown(), JobState::kActive);
  ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) { server_.jobs().Pause(job, std::move(reply)); }));
  EXPECT_EQ(shown(), JobState::kPaused);
}

TEST_F(ServerTest, ForgetsAWaitWhoseAgentIsGone) {
  const SessionId session = Join();
  server_.Wait(session, seconds(25), [](Result<bool>) {});
  EXPECT_EQ(server_.waiting(), 1u);
  server_.ForgetWait(session);
  EXPECT_EQ(server_.waiting(), 0u);
}

TEST_F(ServerTest, ListsItemsByStateInPages) {
  const SessionId session = Join();
  const JobId job = SubmitRange(10);
  ASSERT_TRUE(Sync(SyncOf(session)));
  ItemsRequest request{.job = job, .state = ItemState::kRunning, .from = {}, .limit = 3};
  Result<ItemPage> page =
      Await<ItemPage>([&](Reply<ItemPage> reply) { server_.jobs().Items(request, reply); });
  ASSERT_TRUE(page && page->next);
  EXPECT_EQ(page->items.size(), 3u);
  request.from = *page->next;
  page = Await<ItemPage>([&](Reply<ItemPage> reply) { server_.jobs().Items(request, reply); });
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].item, 3);
  EXPECT_FALSE(page->next);
}

TEST_F(ServerTest, AddsUpWhatItemsTookOnceTheirChunkIsDone) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4);
  SyncRequest request = SyncOf(session);
  request.settlements = {Succeed(Sync(request)->grants[0])};
  ASSERT_TRUE(Sync(request));
  RunFor(seconds(3));
  const Result<Summary> summary =
      Await<Summary>([&](Reply<Summary> reply) { server_.jobs().Stats(job, std::move(reply)); });
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->Attempts(), 4);
  EXPECT_NEAR(static_cast<double>(*summary->duration_ms.Quantile(0.5)), 100, 7);
}

}  // namespace
}  // namespace tidemill
