// SPDX-License-Identifier: Apache-2.0
#include "server/server_test.h"

#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
    server_.Wait(PassOf(session), seconds(25),
                 [&woken](Result<bool> sync_now) { woken += *sync_now; });
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
    server_.Wait(PassOf(session), seconds(25),
                 [&woken](Result<bool> sync_now) { woken += *sync_now; });
  }
  SubmitRange(3);
  EXPECT_EQ(woken, 3);
}

TEST_F(ServerTest, AnswersAWaitWithNothingWhenItsTimeIsOver) {
  const SessionId session = Join();
  std::optional<bool> sync_now;
  server_.Wait(PassOf(session), seconds(5),
               [&sync_now](Result<bool> answer) { sync_now = *answer; });
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
  server_.Wait(PassOf(session), seconds(25),
               [&sync_now](Result<bool> answer) { sync_now = *answer; });
  EXPECT_TRUE(sync_now);
}

TEST_F(ServerTest, DoesNotWakeAnAgentThatHasNoRoom) {
  const SessionId session = Join();
  SyncRequest full = SyncOf(session);
  full.free = {0, 0};
  ASSERT_TRUE(Sync(full));
  bool answered = false;
  server_.Wait(PassOf(session), seconds(25), [&answered](Result<bool>) { answered = true; });
  SubmitRange(100);
  RunFor(seconds(5));
  EXPECT_FALSE(answered);
}

TEST_F(ServerTest, WakesWhoHasLeasesOfAJobThatIsFollowedAndTellsAll) {
  const JobId job = SubmitRange(1);
  const SessionId holder = Join();
  const SessionId other = Join();
  ASSERT_EQ(Sync(SyncOf(holder))->grants.size(), 1U);
  EXPECT_TRUE(Sync(SyncOf(other))->followed.empty());
  int woken = 0;
  int others = 0;
  server_.Wait(PassOf(holder), seconds(25), [&](Result<bool> sync_now) { woken += *sync_now; });
  server_.Wait(PassOf(other), seconds(25), [&](Result<bool> sync_now) { others += *sync_now; });
  EXPECT_TRUE(Await<void>([&](Reply<void> reply) { server_.Follow(job, std::move(reply)); }));
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(Sync(SyncOf(other))->followed, std::vector<JobId>{job});
  EXPECT_EQ(others, 0);
  // Said through another server, which does no more than to write it down.
  RunFor(seconds(12));
  EXPECT_TRUE(Sync(SyncOf(other))->followed.empty());
  server_.Wait(PassOf(holder), seconds(25), [&](Result<bool> sync_now) { woken += *sync_now; });
  ASSERT_TRUE(store_.Follow(job, seconds(10)));
  RunFor(seconds(1));
  EXPECT_EQ(woken, 2);
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
  server_.Wait(PassOf(session), seconds(25), [](Result<bool>) {});
  EXPECT_EQ(server_.waiting(), 1u);
  server_.ForgetWait(session);
  EXPECT_EQ(server_.waiting(), 0u);
}

TEST_F(ServerTest, AStrangerThatHangsUpEndsNobodysWait) {
  const SessionId session = Join();
  server_.Wait(PassOf(session), seconds(25), [](Result<bool>) {});
  SessionPass wrong = PassOf(session);
  wrong.token.back() = wrong.token.back() == '0' ? '1' : '0';
  bool begun = false;
  std::optional<Code> refused;
  server_.Wait(
      wrong, seconds(25), [&refused](Result<bool> answer) { refused = answer.error().code; },
      [&] { return begun = true; });
  RunFor(seconds(1));
  EXPECT_FALSE(begun);
  EXPECT_EQ(refused, Code::kLost);
  EXPECT_EQ(server_.waiting(), 1u);
}

TEST_F(ServerTest, KeepsNoWaitOfOneThatHasHungUp) {
  const SessionId session = Join();
  std::optional<bool> sync_now;
  server_.Wait(
      PassOf(session), seconds(25), [&sync_now](Result<bool> answer) { sync_now = *answer; },
      [] { return false; });
  RunFor(seconds(1));
  EXPECT_EQ(sync_now, false);
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

}  // namespace
}  // namespace tidemill
