// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "store/store_testing.h"

// Jobs from their draft to their end.
namespace tidemill {

TEST_P(StoreTest, CreatingTheSameJobAgainAnswersTheFirst) {
  const Job first = Must(store().CreateJob(JobOf("k")));
  EXPECT_EQ(first.state, JobState::kDraft);
  EXPECT_EQ(Must(store().CreateJob(JobOf("k"))), first);
  NewJob elsewhere = JobOf("k");
  elsewhere.project = "q";
  EXPECT_NE(Must(store().CreateJob(elsewhere)).id, first.id);
}

TEST_P(StoreTest, AKeyWithAnotherSpecIsAConflict) {
  Must(store().CreateJob(JobOf("k")));
  EXPECT_EQ(CodeOfFailed(store().CreateJob(JobOf("k", {.retries = 1}))), Code::kConflict);
}

TEST_P(StoreTest, WishesAndOwnerAreReadWithEveryJob) {
  const JobId first = Must(store().CreateJob(JobOf("a"))).id;
  const JobId second = Must(store().CreateJob(JobOf("b"))).id;
  NewJob job = JobOf("k");
  job.owner = "ann";
  job.spec.wishes = {.queue = "night",
                     .priority = -3,
                     .max_parallel = 7,
                     .deadline = std::chrono::milliseconds(90'000),
                     .budget = Money{12'345'678},
                     .labels = {{"zone", "a"}, {"type", "c6i large"}},
                     .after = {second, first}};
  const Job made = Must(store().CreateJob(job));
  EXPECT_EQ(made.spec, job.spec);
  EXPECT_EQ(made.owner, "ann");
  EXPECT_EQ(Must(store().FindJob(made.id)), made);
  EXPECT_EQ(Must(store().ListJobs({})).at(0), made);
  EXPECT_EQ(Must(store().CountItems(made.id)).job, made);
  EXPECT_EQ(Must(store().AddPart(made.id, PartOf(0, {8}))).owner, "ann");
  EXPECT_EQ(Must(store().SealJob(made.id, 1)).spec.wishes, job.spec.wishes);
  EXPECT_EQ(Must(store().FindJob(first)).spec.wishes, JobWishes{});
  EXPECT_EQ(Must(store().FindJob(first)).owner, "");
  // A limit of nothing is not the same as none.
  NewJob none = JobOf("none");
  none.spec.wishes = {
      .max_parallel = 0, .deadline = std::chrono::milliseconds(0), .budget = Money{}};
  EXPECT_EQ(Must(store().CreateJob(none)).spec, none.spec);
}

TEST_P(StoreTest, OtherWishesAreAnotherSpecAndAnotherOwnerIsNot) {
  const JobId other = Must(store().CreateJob(JobOf("other"))).id;
  NewJob job = JobOf("k");
  job.owner = "ann";
  const Job made = Must(store().CreateJob(job));
  job.owner = "bob";
  EXPECT_EQ(Must(store().CreateJob(job)), made);
  const std::vector<JobWishes> others = {
      {.queue = "q"},       {.priority = 1},
      {.max_parallel = 1},  {.deadline = std::chrono::milliseconds(1)},
      {.budget = Money{1}}, {.labels = {{"a", "b"}}},
      {.after = {other}}};
  for (const JobWishes& wishes : others) {
    job.spec.wishes = wishes;
    EXPECT_EQ(CodeOfFailed(store().CreateJob(job)), Code::kConflict);
  }
}

TEST_P(StoreTest, AJobComesOnlyAfterJobsOfItsProjectThatAreThere) {
  const JobId first = Must(store().CreateJob(JobOf("a"))).id;
  NewJob elsewhere = JobOf("a");
  elsewhere.project = "q";
  const JobId foreign = Must(store().CreateJob(elsewhere)).id;
  NewJob job = JobOf("k");
  for (const JobId id : {foreign, JobId{77}}) {
    job.spec.wishes.after = {first, id};
    const auto refused = store().CreateJob(job);
    ASSERT_EQ(CodeOfFailed(refused), Code::kInvalid);
    EXPECT_EQ(refused.error().reason, "it comes after job " + std::to_string(id.number) +
                                          ", and project p has no such job");
  }
  job.spec.wishes.after = {first};
  const JobId made = Must(store().CreateJob(job)).id;
  Must(store().AddPart(made, PartOf(0, {8})));
  const Job sealed = Must(store().SealJob(made, 1));
  // Said again, it is the same job, whatever has become of the other.
  Must(store().DropStale(kOver));
  EXPECT_EQ(CodeOfFailed(store().FindJob(first)), Code::kNotFound);
  EXPECT_EQ(Must(store().CreateJob(job)), sealed);
}

TEST_P(StoreTest, JobsAreNumberedWithoutGapsAndANumberIsNeverUsedAgain) {
  const JobId first = Must(store().CreateJob(JobOf("a"))).id;
  for (int i = 0; i < 3; ++i) Must(store().CreateJob(JobOf("a")));
  const JobId second = Must(store().CreateJob(JobOf("b"))).id;
  EXPECT_EQ(second.number, first.number + 1);
  EXPECT_EQ(Must(store().DropStale(kOver)), 2);
  EXPECT_EQ(Must(store().CreateJob(JobOf("c"))).id.number, second.number + 1);
}

TEST_P(StoreTest, PartsAppendChunksInOrder) {
  const JobId job = Must(store().CreateJob(JobOf("k"))).id;
  Must(store().AddPart(job, PartOf(0, {3, 2})));
  const Job grown = Must(store().AddPart(job, PartOf(1, {4})));
  EXPECT_EQ(grown.parts, 2);
  EXPECT_EQ(grown.chunks, 3);
  EXPECT_EQ(grown.items, 9);
  EXPECT_EQ(ChunkOf(job, 2).first_item, 5);
}

TEST_P(StoreTest, APartThatIsStoredIsAnsweredAsItWas) {
  const JobId job = Draft();
  const Job before = Must(store().FindJob(job));
  EXPECT_EQ(Must(store().AddPart(job, PartOf(0, {8}))), before);
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(0, {8}, "other"))), Code::kConflict);
  EXPECT_EQ(Must(store().FindJob(job)), before);
}

TEST_P(StoreTest, PartsLeaveNoGap) {
  const JobId job = Draft();
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(2, {8}))), Code::kConflict);
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(-1, {8}))), Code::kConflict);
}

TEST_P(StoreTest, ARangeIsCutIntoFullChunksAndHasNoText) {
  const JobId job = Must(store().CreateJob(JobOf("k"))).id;
  const Job grown = Must(store().AddPart(job, RangeOf(0, 5000)));
  EXPECT_EQ(grown.chunks, 3);
  EXPECT_EQ(grown.items, 5000);
  EXPECT_EQ(ChunkOf(job, 2).length(), 904);
  EXPECT_EQ(Must(store().FindItems({job, 1})), (ChunkItems{2048, 2048, ""}));
}

TEST_P(StoreTest, AJobHasALargestNumberOfItems) {
  const JobId job = Draft();
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, RangeOf(1, limits::kItemsPerJob))), Code::kInvalid);
}

TEST_P(StoreTest, SealingNeedsTheRightNumberOfParts) {
  const JobId job = Draft();
  EXPECT_EQ(CodeOfFailed(store().SealJob(job, 2)), Code::kConflict);
  EXPECT_EQ(Must(store().SealJob(job, 1)).state, JobState::kActive);
  EXPECT_EQ(Must(store().SealJob(job, 1)).state, JobState::kActive);
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(1, {8}))), Code::kConflict);
}

TEST_P(StoreTest, ADraftGrantsNothing) {
  const JobId job = Draft();
  EXPECT_TRUE(Sync(Asks(Joined(), job, 4)).grants.empty());
  EXPECT_EQ(CodeOfFailed(store().ReopenJob(job, {})), Code::kConflict);
}

TEST_P(StoreTest, AnOpenJobGetsMorePartsWhileItRuns) {
  const JobId job = Sealed({.chunks = {2}, .open = true});
  RunAll(job);
  EXPECT_EQ(Sweep(job), JobState::kActive);  // more may come
  const std::int64_t before = Must(store().ReadChange()).seq;
  Must(store().AddPart(job, PartOf(1, {3})));
  EXPECT_GT(Must(store().ReadChange()).seq, before);
  EXPECT_EQ(CountsOf(job).waiting, 3);
  Must(store().CloseJob(job));
  EXPECT_EQ(Sweep(job), JobState::kActive);
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(2, {3}))), Code::kConflict);
  RunAll(job);
  EXPECT_EQ(Sweep(job), JobState::kFinished);
}

TEST_P(StoreTest, AJobWithoutItemsFinishes) {
  const JobId job = Must(store().CreateJob(JobOf("k"))).id;
  Must(store().SealJob(job, 0));
  EXPECT_EQ(Must(store().ListSweepable(10)), std::vector<JobId>{job});
  EXPECT_EQ(Sweep(job), JobState::kFinished);
  EXPECT_EQ(CountsOf(job), Counts());
}

TEST_P(StoreTest, AFinishedJobStaysSoAndCannotBeCancelled) {
  const JobId job = Sealed({.chunks = {2}});
  RunAll(job);
  EXPECT_EQ(Sweep(job), JobState::kFinished);
  EXPECT_EQ(Sweep(job), JobState::kFinished);
  EXPECT_EQ(CodeOfFailed(store().CancelJob(job)), Code::kConflict);
  EXPECT_EQ(CodeOfFailed(store().PauseJob(job, "")), Code::kConflict);
  EXPECT_TRUE(Must(store().ListSweepable(10)).empty());
}

TEST_P(StoreTest, APausedJobGrantsNothingAndTakesReports) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  EXPECT_EQ(Must(store().PauseJob(job, "")).state, JobState::kPaused);
  EXPECT_EQ(Must(store().PauseJob(job, "")).state, JobState::kPaused);
  EXPECT_TRUE(Sync(Asks(Joined(), job, 4)).grants.empty());
  Tell(lease, {.ok = Upto(4)});
  EXPECT_EQ(CountsOf(job).succeeded, 4);
  EXPECT_EQ(Must(store().ResumeJob(job)).state, JobState::kActive);
  EXPECT_EQ(Must(store().ResumeJob(job)).state, JobState::kActive);
  EXPECT_EQ(Take(Joined(), job, 4).mine, In(8, {4, 5, 6, 7}));
}

TEST_P(StoreTest, APausedJobFinishesWhenItsLastItemIsDone) {
  const JobId job = Sealed({.chunks = {2}});
  const Lease lease = Take(Joined(), job, 2);
  Must(store().PauseJob(job, ""));
  Tell(lease, {.ok = Upto(2)});
  EXPECT_EQ(Sweep(job), JobState::kFinished);
}

TEST_P(StoreTest, ACancelledDraftParksItsItems) {
  const JobId job = Draft();
  EXPECT_EQ(Must(store().CancelJob(job)).state, JobState::kCancelling);
  EXPECT_EQ(Sweep(job), JobState::kCancelled);
  EXPECT_EQ(CountsOf(job).cancelled, 8);
  EXPECT_EQ(Must(store().CancelJob(job)).state, JobState::kCancelled);
  EXPECT_EQ(CodeOfFailed(store().AddPart(job, PartOf(1, {8}))), Code::kConflict);
}

TEST_P(StoreTest, CancellingRevokesLeasesAndKeepsWhatIsDone) {
  const JobId job = Sealed({.chunks = {4, 4}});
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 3);
  Tell(lease, {.ok = Items({0})});
  Must(store().CancelJob(job));
  EXPECT_TRUE(Sync(Asks(Joined(), job, 4)).grants.empty());
  EXPECT_EQ(Must(store().ListSweepable(10)), std::vector<JobId>{job});
  const Swept swept = Must(store().SweepJob(job));
  EXPECT_EQ(swept, (Swept{false, JobState::kCancelled, {session}}));
  const Counts counts = CountsOf(job);
  EXPECT_EQ(counts.succeeded, 1);
  EXPECT_EQ(counts.cancelled, 7);
  EXPECT_EQ(Tell(lease, {.seq = 1, .ok = Items({1})}).gone, std::vector<LeaseId>{lease.id});
  EXPECT_EQ(CountsOf(job), counts);
  EXPECT_EQ(CodeOfFailed(store().ReopenJob(job, {})), Code::kConflict);
  EXPECT_EQ(CodeOfFailed(store().ResumeJob(job)), Code::kConflict);
}

TEST_P(StoreTest, AJobWithManyLeasesIsCancelledStepByStep) {
  const int leases = limits::kRevokeLeases + 5;
  const JobId job = Sealed({.chunks = {leases}});
  std::vector<SyncOrder> syncs;
  for (int i = 0; i < leases; ++i) syncs.push_back(Asks(Joined(), job, 1));
  Run(syncs);
  Must(store().CancelJob(job));
  const Swept first = Must(store().SweepJob(job));
  EXPECT_EQ(first.state, JobState::kCancelling);
  EXPECT_TRUE(first.again);
  EXPECT_EQ(first.revoked.size(), static_cast<std::size_t>(limits::kRevokeLeases));
  const Swept second = Must(store().SweepJob(job));
  EXPECT_EQ(second.state, JobState::kCancelled);
  EXPECT_EQ(second.revoked.size(), 5u);
}

TEST_P(StoreTest, WhatComesBackWhileAJobIsCancelledIsParked) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 4);
  Must(store().CancelJob(job));
  Tell(lease, {.ok = Items({0}), .back = Items({1, 2, 3})});
  EXPECT_EQ(Sweep(job), JobState::kCancelled);
  EXPECT_EQ(CountsOf(job).cancelled, 7);
}

TEST_P(StoreTest, CallsForAJobThatIsNotThereSaySo) {
  const JobId none{4711};
  EXPECT_EQ(CodeOfFailed(store().FindJob(none)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().AddPart(none, PartOf(0, {1}))), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().SealJob(none, 0)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().CloseJob(none)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().PauseJob(none, "")), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().CancelJob(none)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().ReopenJob(none, {})), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().SweepJob(none)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().CountItems(none)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().ListChunks(none, {})), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().FindItems({none, 0})), Code::kNotFound);
  EXPECT_TRUE(Sync(Asks(Joined(), none, 1)).grants.empty());
}

TEST_P(StoreTest, DraftsThatNobodyTouchesAreDropped) {
  const JobId draft = Draft();
  const JobId sealed = Sealed();
  EXPECT_EQ(Must(store().DropStale(kLong)), 0);
  EXPECT_EQ(Must(store().DropStale(kOver)), 1);
  EXPECT_EQ(CodeOfFailed(store().FindJob(draft)), Code::kNotFound);
  EXPECT_EQ(StateOf(sealed), JobState::kActive);
}

}  // namespace tidemill
