// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "store/store_testing.h"

// What a job learns while it runs: whether its items can succeed, and how much they need.
namespace tidemill {

TEST_P(StoreTest, AJobWithACanaryIsOnTrialUntilItEnds) {
  const JobId job = Sealed({.canary = 7});
  EXPECT_TRUE(Must(store().FindJob(job)).trial);
  EXPECT_EQ(Must(store().ListRunnable(10)).at(0).trial, 7);
  Must(store().EndTrial(job));
  Must(store().EndTrial(job));
  EXPECT_FALSE(Must(store().FindJob(job)).trial);
  EXPECT_EQ(Must(store().ListRunnable(10)).at(0).trial, 0);
  EXPECT_FALSE(Must(store().FindJob(Sealed())).trial);
  Must(store().EndTrial({4711}));
}

TEST_P(StoreTest, OnlyAnActiveJobOnTrialIsPausedByIt) {
  const JobId job = Sealed({.canary = 1}), draft = Draft({.canary = 1}), sound = Sealed();
  const std::int64_t change = Must(store().ReadChange()).seq;
  Must(store().PauseTrial(draft, "all fail"));
  Must(store().PauseTrial(sound, "all fail"));
  Must(store().PauseTrial({4711}, "all fail"));
  EXPECT_EQ(StateOf(draft), JobState::kDraft);
  EXPECT_EQ(StateOf(sound), JobState::kActive);
  EXPECT_EQ(Must(store().ReadChange()).seq, change);
  Must(store().PauseTrial(job, "all fail"));
  Must(store().PauseTrial(job, "again"));
  const Job paused = Must(store().FindJob(job));
  EXPECT_EQ(paused.state, JobState::kPaused);
  EXPECT_EQ(paused.reason, "all fail");
  EXPECT_TRUE(paused.trial);
  EXPECT_GT(Must(store().ReadChange()).seq, change);
}

TEST_P(StoreTest, ResumingEndsTheTrial) {
  const JobId job = Sealed({.canary = 1});
  Must(store().PauseTrial(job, "all fail"));
  const Job resumed = Must(store().ResumeJob(job));
  EXPECT_FALSE(resumed.trial);
  EXPECT_EQ(resumed.state, JobState::kActive);
  EXPECT_EQ(resumed.reason, "");
  Must(store().PauseTrial(job, "all fail"));
  EXPECT_EQ(StateOf(job), JobState::kActive);
  // Somebody looked at one that runs.
  const JobId other = Sealed({.canary = 1});
  EXPECT_FALSE(Must(store().ResumeJob(other)).trial);
}

TEST_P(StoreTest, WhatItemsStartWithGrowsAndNeverShrinks) {
  const JobId job = Sealed({.memory = 1000, .memory_max = 8000});
  EXPECT_EQ(Must(store().FindJob(job)).memory_bytes, 1000);
  Must(store().RaiseMemory(job, 4000));
  Must(store().RaiseMemory(job, 2000));
  Must(store().RaiseMemory({4711}, 2000));
  const Job raised = Must(store().FindJob(job));
  EXPECT_EQ(raised.memory_bytes, 4000);
  EXPECT_EQ(raised.spec.resources.memory_bytes, 1000);
  const RunnableJob runnable = Must(store().ListRunnable(10)).at(0);
  EXPECT_EQ(runnable.resources.memory_bytes, 4000);
  EXPECT_EQ(runnable.memory_max, 8000);
}

TEST_P(StoreTest, TheFirstDigestOfAnImageCounts) {
  const std::string first = "sha256:" + std::string(64, 'a');
  const std::string second = "sha256:" + std::string(64, 'b');
  const JobId job = Sealed();
  EXPECT_EQ(Must(store().FindJob(job)).image_digest, "");
  const std::int64_t change = Must(store().ReadChange()).seq;
  EXPECT_EQ(Must(store().PinImage(job, first)), first);
  EXPECT_EQ(Must(store().PinImage(job, second)), first);
  EXPECT_EQ(Must(store().PinImage(job, first)), first);
  EXPECT_EQ(Must(store().FindJob(job)).image_digest, first);
  EXPECT_EQ(Must(store().CountItems(job)).job.image_digest, first);
  EXPECT_EQ(Must(store().ReadChange()).seq, change);
  EXPECT_EQ(Must(store().FindJob(Sealed())).image_digest, "");
  EXPECT_EQ(CodeOfFailed(store().PinImage({4711}, first)), Code::kNotFound);
}

TEST_P(StoreTest, AJobIsMadeWithADigestOnce) {
  NewJob job = JobOf("pinned");
  job.image_digest = "sha256:" + std::string(64, 'a');
  const Job made = Must(store().CreateJob(job));
  EXPECT_EQ(made.image_digest, job.image_digest);
  // The tag has moved, or its registry is away, when the same job is submitted again.
  for (const char* other : {"sha256:b", ""}) {
    NewJob again = job;
    again.image_digest = other;
    EXPECT_EQ(Must(store().CreateJob(again)), made);
  }
  EXPECT_EQ(Must(store().PinImage(made.id, "sha256:c")), job.image_digest);
  NewJob unpinned = JobOf("unpinned");
  const Job bare = Must(store().CreateJob(unpinned));
  unpinned.image_digest = "sha256:d";
  EXPECT_EQ(Must(store().CreateJob(unpinned)), bare);
}

TEST_P(StoreTest, ASpecIsKeptWithAllItsLimits) {
  NewJob job = JobOf("limits", {.retries = 3,
                                .retry_wait = std::chrono::milliseconds(1500),
                                .memory = 5,
                                .memory_max = 9,
                                .canary = 4});
  DeviceCount gpus = 2;
  gpus.model = "NVIDIA A10G";
  gpus.memory = 20 * kGiB;
  gpus.version = 12002;
  job.spec.resources.devices = {{"nvidia.com/gpu", gpus}, {"fpga", 1}};
  job.uid = "00ff";
  const Job made = Must(store().CreateJob(job));
  EXPECT_EQ(made.spec, job.spec);
  EXPECT_EQ(Must(store().FindJob(made.id)), made);
  EXPECT_EQ(Must(store().CreateJob(job)), made);
  EXPECT_EQ(made.uid, "00ff");
  job.uid = "1122";  // each call of a server brings another one
  EXPECT_EQ(Must(store().CreateJob(job)), made);
  for (const auto& change : std::vector<std::function<void(JobSpec&)>>{
           [](JobSpec& spec) { spec.memory_max = 8; },
           [](JobSpec& spec) { spec.retry_wait = std::chrono::milliseconds(2); },
           [](JobSpec& spec) { spec.canary = 0; },
           [](JobSpec& spec) { spec.resources.devices.clear(); }}) {
    NewJob other = job;
    change(other.spec);
    EXPECT_EQ(CodeOfFailed(store().CreateJob(other)), Code::kConflict);
  }
  // What an image asks for is not known each time.
  NewJob again = job;
  again.spec.resources.devices.at("nvidia.com/gpu").version = 0;
  EXPECT_EQ(Must(store().CreateJob(again)), made);
  Must(store().AddPart(made.id, PartOf(0, {1})));
  Must(store().SealJob(made.id, 1));
  EXPECT_EQ(Must(store().ListRunnable(1)).at(0).resources, job.spec.resources);
}

TEST_P(StoreTest, AMachineIsKeptWithItsDevices) {
  NewSession session;
  session.id = {7, 7};
  session.machine = "m";
  session.project = "p";
  session.token = kToken;
  session.life = kLong;
  session.shape = {2000, 5, {{"nvidia.com/gpu", 4}}};
  EXPECT_EQ(Must(store().Join(session)).shape, session.shape);
  EXPECT_EQ(Must(store().Join(session)).shape, session.shape);
  EXPECT_EQ(Must(store().ListMachines({})).at(0).session.shape, session.shape);
}

}  // namespace tidemill
