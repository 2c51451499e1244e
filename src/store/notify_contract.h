// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/store_testing.h"

// Who is told of jobs.
namespace tidemill {

class NotifyStoreTest : public StoreTest {
 protected:
  JobId Telling(const std::string& project = "p", std::optional<Money> budget = {}) {
    NewJob job = JobOf("told-" + std::to_string(++made_));
    job.project = project;
    job.spec.wishes.budget = budget;
    job.spec.document = R"({"notify":[{"url":"https://a/"}]})";
    const JobId id = Must(store().CreateJob(job)).id;
    Must(store().AddPart(id, PartOf(0, {2})));
    Must(store().SealJob(id, 1));
    return id;
  }
  NewNotification New(JobEvent event = JobEvent::kPaused) {
    return {NewNoteId(), event, "https://a/", "key", "body"};
  }
  NotificationId NewNoteId() { return {7, static_cast<std::uint64_t>(++made_)}; }
  Job JobNow(JobId id) { return Must(store().FindJob(id)); }
  std::vector<JobId> Untold(JobId after = {0}, int limit = 10) {
    return IdsOfJobs(Must(notify().ListUntold(after, limit)));
  }
  std::vector<JobId> Budgets() { return IdsOfJobs(Must(notify().ListBudgets({0}, 10))); }
  static std::vector<JobId> IdsOfJobs(const std::vector<Job>& jobs) {
    std::vector<JobId> ids;
    for (const Job& job : jobs) ids.push_back(job.id);
    return ids;
  }
  std::vector<DueNotification> Take(DueFilter filter = {.limit = 10, .each = 10}) {
    if (filter.hold == Duration::zero()) filter.hold = std::chrono::seconds(30);
    return Must(notify().TakeDue(filter));
  }
  Notification Only(JobId job) {
    const std::vector<Notification> all = Must(notify().ListNotifications(job));
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  JobId PausedAndTold(const std::string& project = "p") {
    const JobId job = Telling(project);
    Must(store().PauseJob(job, "its image"));
    EXPECT_TRUE(Must(notify().Tell(JobNow(job), {New()})));
    return job;
  }

 private:
  int made_ = 0;
};

TEST_P(NotifyStoreTest, AJobIsUntoldUntilItsStateAndRoundAreMarked) {
  const JobId silent = Sealed();
  const JobId job = Telling();
  const JobId other = Telling();
  EXPECT_LT(silent, job);
  EXPECT_EQ(Untold(), (std::vector<JobId>{job, other}));
  EXPECT_EQ(Untold(job), std::vector<JobId>{other});
  EXPECT_EQ(Untold({0}, 1), std::vector<JobId>{job});
  EXPECT_TRUE(Must(notify().Tell(JobNow(job), {})));
  EXPECT_EQ(Untold(), std::vector<JobId>{other});
  Must(store().PauseJob(job, ""));
  EXPECT_EQ(Untold(), (std::vector<JobId>{job, other}));
  EXPECT_TRUE(Take().empty());
}

TEST_P(NotifyStoreTest, WhatTwoSeeIsToldOnce) {
  const JobId job = Telling();
  const Job seen = JobNow(job);
  EXPECT_TRUE(Must(notify().Tell(seen, {New()})));
  EXPECT_FALSE(Must(notify().Tell(seen, {New()})));
  EXPECT_EQ(Must(notify().ListNotifications(job)).size(), 1u);
  // Of what it is not any more nothing is told.
  Must(store().PauseJob(job, "x"));
  EXPECT_FALSE(Must(notify().Tell(seen, {New()})));
  EXPECT_EQ(Untold(), std::vector<JobId>{job});
}

TEST_P(NotifyStoreTest, ARoundAfterAnotherIsToldAgain) {
  const JobId job = Telling();
  RunAll(job, Items({1}));
  Must(store().SweepJob(job));
  ASSERT_EQ(StateOf(job), JobState::kFinished);
  EXPECT_TRUE(Must(notify().Tell(JobNow(job), {New(JobEvent::kFailed)})));
  EXPECT_TRUE(Untold().empty());
  Must(store().ReopenJob(job, {}));
  EXPECT_EQ(Untold(), std::vector<JobId>{job});
  EXPECT_TRUE(Must(notify().Tell(JobNow(job), {})));
  RunAll(job, Items({}));
  Must(store().SweepJob(job));
  ASSERT_EQ(StateOf(job), JobState::kFinished);
  EXPECT_TRUE(Must(notify().Tell(JobNow(job), {New(JobEvent::kSucceeded)})));
  const std::vector<Notification> all = Must(notify().ListNotifications(job));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].event, JobEvent::kFailed);
  EXPECT_EQ(all[0].round, 0);
  EXPECT_EQ(all[1].event, JobEvent::kSucceeded);
  EXPECT_EQ(all[1].round, 1);
}

TEST_P(NotifyStoreTest, ABudgetIsToldOfOnceARound) {
  const JobId rich = Telling();
  const JobId job = Telling("p", Money{5});
  EXPECT_LT(rich, job);
  EXPECT_EQ(Budgets(), std::vector<JobId>{job});
  const Job seen = JobNow(job);
  EXPECT_TRUE(Must(notify().TellBudget(seen, {New(JobEvent::kBudget)})));
  EXPECT_FALSE(Must(notify().TellBudget(seen, {New(JobEvent::kBudget)})));
  EXPECT_TRUE(Budgets().empty());
  EXPECT_EQ(Only(job).event, JobEvent::kBudget);
  EXPECT_EQ(Untold(), (std::vector<JobId>{rich, job}));
  const JobId paused = Telling("p", Money{5});
  const Job active = JobNow(paused);
  Must(store().PauseJob(paused, ""));
  EXPECT_TRUE(Budgets().empty());
  EXPECT_FALSE(Must(notify().TellBudget(active, {New(JobEvent::kBudget)})));
}

TEST_P(NotifyStoreTest, WhatIsTakenIsNotTakenAgainBeforeItsTime) {
  const JobId job = PausedAndTold();
  const std::vector<DueNotification> taken = Take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].job, job);
  EXPECT_EQ(taken[0].project, "p");
  EXPECT_EQ(taken[0].event, JobEvent::kPaused);
  EXPECT_EQ(taken[0].url, "https://a/");
  EXPECT_EQ(taken[0].secret, "key");
  EXPECT_EQ(taken[0].body, "body");
  EXPECT_EQ(taken[0].tries, 1);
  EXPECT_TRUE(Take().empty());
  Age(std::chrono::seconds(31));
  const std::vector<DueNotification> again = Take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, taken[0].id);
  EXPECT_EQ(again[0].tries, 2);
  EXPECT_EQ(again[0].age, std::chrono::seconds(31));
}

TEST_P(NotifyStoreTest, ATryThatWasInVainIsFollowedByAnother) {
  const JobId job = PausedAndTold();
  const DueNotification taken = Take().at(0);
  Must(notify().EndTry(taken.id, 1, {.again_in = std::chrono::seconds(5), .error = "500"}));
  EXPECT_TRUE(Take().empty());
  EXPECT_EQ(Only(job).error, "500");
  EXPECT_EQ(Only(job).due_ms, Only(job).created_ms + 5000);
  Age(std::chrono::seconds(6));
  EXPECT_EQ(Take().at(0).tries, 2);
  // The first server was only slow: what it says of the first try counts no more.
  Must(notify().EndTry(taken.id, 1, {.state = NotificationState::kGivenUp, .error = "late"}));
  EXPECT_EQ(Only(job).state, NotificationState::kDue);
  Must(notify().EndTry(taken.id, 2, {.state = NotificationState::kGivenUp, .error = "gone"}));
  EXPECT_EQ(Only(job).state, NotificationState::kGivenUp);
  EXPECT_EQ(Only(job).error, "gone");
  Age(std::chrono::hours(100));
  EXPECT_TRUE(Take().empty());
}

TEST_P(NotifyStoreTest, WhatWasDeliveredIsOver) {
  const JobId job = PausedAndTold();
  const DueNotification taken = Take().at(0);
  Age(std::chrono::seconds(31));
  EXPECT_EQ(Take().at(0).tries, 2);
  Must(notify().EndTry(taken.id, 1, {.state = NotificationState::kDelivered}));
  Must(notify().EndTry(taken.id, 2, {.again_in = std::chrono::seconds(1), .error = "500"}));
  const Notification over = Only(job);
  EXPECT_EQ(over.state, NotificationState::kDelivered);
  EXPECT_EQ(over.error, "");
  EXPECT_EQ(over.delivered_ms, over.created_ms + 31'000);
  Age(std::chrono::hours(1));
  EXPECT_TRUE(Take().empty());
}

TEST_P(NotifyStoreTest, NoProjectTakesTheTurnsOfAnother) {
  for (int i = 0; i < 3; ++i) PausedAndTold("p");
  const JobId other = PausedAndTold("q");
  EXPECT_EQ(Take({.limit = 10, .each = 2}).size(), 3u);
  Age(std::chrono::hours(1));
  const auto of_q = Take({.limit = 10, .each = 10, .but = {"p", "r"}});
  ASSERT_EQ(of_q.size(), 1u);
  EXPECT_EQ(of_q[0].job, other);
  // Of the three, the one that nobody has tried yet goes first.
  const auto of_p = Take({.limit = 10, .each = 1, .but = {"q"}});
  ASSERT_EQ(of_p.size(), 1u);
  EXPECT_EQ(of_p[0].tries, 1);
  EXPECT_EQ(Take({.limit = 1, .each = 10}).size(), 1u);
}

TEST_P(NotifyStoreTest, AJobHasNotMoreThanItsShareOfThem) {
  const JobId job = Telling();
  std::vector<NewNotification> many;
  for (int i = 0; i < kNotificationsPerJob - 1; ++i) many.push_back(New());
  EXPECT_TRUE(Must(notify().Tell(JobNow(job), many)));
  Must(store().PauseJob(job, "x"));
  EXPECT_TRUE(Must(notify().Tell(JobNow(job), {New(), New(), New()})));
  EXPECT_TRUE(Untold().empty());
  EXPECT_EQ(std::ssize(Must(notify().ListNotifications(job))), kNotificationsPerJob);
}

}  // namespace tidemill
