// SPDX-License-Identifier: Apache-2.0
// Jobs that agents cannot run, and machines that cannot run jobs.
#include "server/server_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class TroublesTest : public ServerTest {
 protected:
  // Takes a lease of the only job and says that it cannot run it. Keeps the lease.
  void Say(SessionId session, JobId job, const std::string& reason) {
    SyncRequest request = SyncOf(session);
    if (!held_.contains(session)) {
      const auto taken = Sync(request);
      ASSERT_TRUE(taken && taken->grants.size() == 1);
      held_[session] = taken->grants[0].lease.id;
    }
    request.known = {held_[session]};
    request.free = {0, 0};
    request.troubles = {{job, reason}};
    ASSERT_TRUE(Sync(request));
    RunFor(seconds(1));
  }
  Job Find(JobId job) { return store_.FindJob(job).value(); }

  std::map<SessionId, LeaseId> held_;
};

TEST_F(TroublesTest, PausesAJobOnceThreeMachinesAgree) {
  const SessionId machines[] = {Join(), Join(), Join(), Join()};
  const JobId job = SubmitRange(100);
  Say(machines[0], job, "no such image");
  Say(machines[0], job, "no such image");
  Say(machines[1], job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kActive);
  Say(machines[2], job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kPaused);
  EXPECT_EQ(Find(job).reason, "no such image (3 machines agree)");
  EXPECT_EQ(log_.warnings, (std::vector<std::string>{"job.paused"}));
}

TEST_F(TroublesTest, PausesAJobOnceAllMachinesAgreeIfTheyAreFew) {
  const SessionId one = Join(), two = Join();
  const JobId job = SubmitRange(100);
  Say(one, job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kActive);
  ASSERT_TRUE(store_.Drain(two, ""));  // gets no items any more
  Say(one, job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kPaused);
  EXPECT_EQ(Find(job).reason, "no such image (one machine says so)");
}

TEST_F(TroublesTest, BelievesAMachineThatInsists) {
  const SessionId one = Join();
  const JobId job = SubmitRange(100);
  Join();  // never gets an item of it
  Say(one, job, "no such image");
  RunFor(seconds(20));
  Say(one, job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kActive);
  RunFor(seconds(10));
  Say(one, job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kPaused);
}

TEST_F(TroublesTest, CountsAnewAfterAPause) {
  const SessionId machines[] = {Join(), Join(), Join(), Join()};
  const JobId job = SubmitRange(100);
  for (int i = 0; i < 3; ++i) Say(machines[i], job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kPaused);
  // Said again it changes nothing, and is no news.
  Say(machines[0], job, "no such image");
  EXPECT_EQ(log_.warnings.size(), 1u);
  ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) { server_.jobs().Resume(job, reply); }));
  EXPECT_EQ(Find(job).reason, "");
  Say(machines[0], job, "no such image");
  Say(machines[1], job, "no such image");
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(TroublesTest, BelievesNobodyWhoHoldsNoLease) {
  const SessionId liar = Join();
  const JobId job = SubmitRange(100);
  SyncRequest lie = SyncOf(liar);
  lie.free = {0, 0};
  lie.troubles = {{job, "a lie"}};
  ASSERT_TRUE(Sync(lie));
  RunFor(seconds(1));
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(TroublesTest, PutsAMachineAsideOnWhichItemsFailThatSucceedElsewhere) {
  const SessionId bad = Join(), good = Join();
  Record record;
  record.session = bad;
  record.project = "default";
  record.pool = "default";
  record.attempts = 20;
  record.blamed = 2;
  store_.records = {record, record};
  store_.records[1].session = good;
  store_.records[1].blamed = 0;
  RunFor(seconds(10));
  EXPECT_TRUE(store_.aside.empty());
  store_.records[0].blamed = 3;
  std::optional<bool> woken;
  server_.Wait(PassOf(bad), seconds(20), [&](Result<bool> told) { woken = told.value(); });
  RunFor(seconds(10));
  EXPECT_EQ(store_.aside, (std::map<SessionId, std::string>{
                              {bad, "3 items failed here and succeeded on other machines"}}));
  EXPECT_EQ(woken, true);
}

}  // namespace
}  // namespace tidemill
