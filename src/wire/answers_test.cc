// SPDX-License-Identifier: Apache-2.0
// Answers of servers come back as they went, and fields of newer ones are passed over.
#include <chrono>

#include <gtest/gtest.h>

#include "wire/item_json.h"
#include "wire/job_json.h"
#include "wire/machine_json.h"
#include "wire/problem_json.h"
#include "wire/stats_json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

// What the answer does not carry is empty.
Job AJob() {
  Job job;
  job.id = {7};
  job.spec.name = "render";
  job.spec.resources = {500, std::int64_t{4} << 30, {{"nvidia.com/gpu", 1}}};
  job.spec.memory_max = std::int64_t{8} << 30;
  job.spec.retries = 5;
  job.spec.retry_wait = std::chrono::seconds(2);
  job.spec.canary = 0;
  job.spec.document =
      R"({"after":[3],"budget":1.25,"canary":false,"deadline":"1h","labels":{"a":"b"},)"
      R"("max_parallel":4,"priority":2,"queue":"night",)"
      R"("resources":{"cpus":0.5,"devices":{"nvidia.com/gpu":1},)"
      R"("memory":{"max":"8GiB","start":"4GiB"}},"retries":5,"retry":{"wait":"2s"},"x":[1]})";
  job.spec.wishes = {.queue = "night",
                     .priority = 2,
                     .max_parallel = 4,
                     .deadline = std::chrono::hours(1),
                     .budget = Money{1'250'000},
                     .labels = {{"a", "b"}},
                     .after = {{3}}};
  job.owner = "anna";
  job.state = JobState::kPaused;
  job.open = true;
  job.round = 2;
  job.parts = 3;
  job.items = 5000;
  job.created_ms = 1'777'636'985'007;
  job.reason = "no such image: \"a\"";
  job.memory_bytes = std::int64_t{6} << 30;
  job.trial = true;
  job.objects = "s3://bucket/tidemill";
  job.project = "films";
  return job;
}

TEST(Answers, AJobComesBackAsItWent) {
  const auto back = ParseJob(FormatJob(AJob()));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(*back, AJob());
  const Counts counts{15, 1, 2, 3, 4, 5};
  const auto counted = ParseJobCounts(FormatJobCounts({AJob(), counts}));
  ASSERT_TRUE(counted) << counted.error().reason;
  EXPECT_EQ(counted->job, AJob());
  EXPECT_EQ(counted->counts, counts);
  EXPECT_FALSE(ParseJobCounts(FormatJob(AJob())));
}

TEST(Answers, OnlyAJobThatHasAReasonShowsOne) {
  Job job = AJob();
  EXPECT_NE(FormatJob(job).find(R"("reason":"no such image: \"a\"")"), std::string::npos);
  job.reason.clear();
  EXPECT_EQ(FormatJob(job).find("reason"), std::string::npos);
}

TEST(Answers, AJobHasItsDefaultsAndFieldsOfNewerServersArePassedOver) {
  const auto job = ParseJob(R"({"number":7,"name":"a","state":"active","mood":{},)"
                            R"("spec":{"resources":{"gpus":1},"new":true}})");
  ASSERT_TRUE(job) << job.error().reason;
  EXPECT_EQ(job->spec.resources, (Resources{1000, 0}));
  EXPECT_EQ(job->spec.retries, 3);
  EXPECT_FALSE(ParseJob(R"({"number":7,"name":"a","state":"odd","spec":{}})"));
  EXPECT_FALSE(ParseJob(R"({"name":"a","state":"active","spec":{}})"));
}

TEST(Answers, JobsComeBackAsTheyWent) {
  const Counts counts{15, 1, 2, 3, 4, 5};
  auto page = ParseJobs(FormatJobs(std::vector<JobCounts>{{AJob(), counts}}, true));
  ASSERT_TRUE(page) << page.error().reason;
  ASSERT_EQ(page->jobs.size(), 1u);
  EXPECT_EQ(page->jobs[0].job, AJob());
  EXPECT_EQ(page->jobs[0].counts, counts);
  EXPECT_EQ(page->next, "7");
  page = ParseJobs(FormatJobs(std::vector<Job>{AJob()}, false));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->jobs[0].counts, std::nullopt);
  EXPECT_EQ(page->next, "");
}

TEST(Answers, ItemsComeBackWithTheirOutcomes) {
  ItemPage page;
  page.items.resize(2);
  page.items[0] = {12, ItemState::kWaiting, "a\tb", 2, Outcome{}};
  page.items[0].outcome =
      Outcome{12, 1, 2, Cause::kTimeout, 137, 1'777'636'985'007, 61'000, 59'000, 1 << 20, "i-0fe2"};
  page.items[1] = {13, ItemState::kRunning, "", 0, {}};
  page.next = ItemPlace{1, 5};
  const std::string text = FormatItems(page);
  EXPECT_NE(text.find(R"("attempts":2,"outcome":{"cause":"timeout","exit":137,"attempt":2,)"
                      R"("round":1,"started_at":"2026-05-01T12:03:05.007Z",)"
                      R"("duration_ms":61000,"cpu_ms":59000,"memory_bytes":1048576,)"
                      R"("machine":"i-0fe2"}})"),
            std::string::npos)
      << text;
  const auto back = ParseItems(text);
  ASSERT_TRUE(back) << back.error().reason;
  ASSERT_EQ(back->items.size(), 2u);
  EXPECT_EQ(back->items[0].text, "a\tb");
  EXPECT_EQ(back->items[0].attempts, 2);
  EXPECT_EQ(back->items[0].outcome, page.items[0].outcome);
  EXPECT_EQ(back->items[1].state, ItemState::kRunning);
  EXPECT_EQ(back->items[1].outcome, std::nullopt);
  EXPECT_EQ(back->next, page.next);
}

TEST(Answers, StatsComeBackAsTheyWent) {
  Summary summary;
  for (std::int64_t i = 1; i <= 10; ++i) {
    summary.Add(
        {.item = i, .duration_ms = 1000, .cpu_ms = i * 100, .memory_bytes = 5, .machine = {}},
        true);
  }
  const auto back = ParseStats(FormatStats(summary, true));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->attempts.at("succeeded"), 10);
  EXPECT_EQ(back->outcomes.at("total"), 10);
  EXPECT_EQ(back->cpu_millis.count, 10);
  EXPECT_EQ(back->cpu_millis.max, 1000);
  EXPECT_EQ(back->cpu_millis.buckets.front().count, 1);
  EXPECT_EQ(back->memory_bytes.max, 5);
  EXPECT_EQ(back->slowest.front(), (TopItems::Entry{1, 1000}));
  EXPECT_EQ(back->largest.size(), 10u);
  EXPECT_TRUE(back->partial);
}

TEST(Answers, MachinesComeBackAsTheyWent) {
  ListedMachine machine;
  machine.session = {{1, 2}, "i-0fe2", "", "spot", {8000, 1 << 30}, SessionState::kDraining};
  machine.joined_ms = 1'777'636'985'007;
  machine.seen_ms = 1'777'636'995'007;
  machine.items = 12;
  machine.status = MachineStatus{"docker", true, {{{7}, 3, 2500, 1024}}};
  machine.status->jobs[0].progress = {{17, 250, "epoch 1 of 4"}};
  machine.status->type = "c7i.4xlarge";
  machine.status->zone = "eu-west-1a";
  machine.status->spot = true;
  ListedMachine silent = machine;
  silent.session.aside = "4 items failed here and succeeded on other machines";
  silent.session.shape.devices = {{"nvidia.com/gpu", 8}};
  silent.session.id = {1, 3};
  silent.status.reset();
  const std::string text = FormatMachines({machine, silent}, true);
  const auto back = ParseMachines(text);
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->machines, (std::vector<ListedMachine>{machine, silent}));
  EXPECT_EQ(back->next, "00000000-0000-0001-0000-000000000003");
  EXPECT_NE(
      text.find(R"({"session":"00000000-0000-0001-0000-000000000002","machine":"i-0fe2",)"
                R"("pool":"spot","state":"draining","resources":{"cpus":8,"memory":1073741824},)"
                R"("joined_at":"2026-05-01T12:03:05.007Z","seen_at":"2026-05-01T12:03:15.007Z",)"
                R"("items":12,"status":{"engine":"docker","enforces":true,)"
                R"("type":"c7i.4xlarge","zone":"eu-west-1a","spot":true,)"
                R"("jobs":[{"job":7,"running":3,"cpus":2.5,"memory":1024,)"
                R"("progress":[{"item":17,"permille":250,"note":"epoch 1 of 4"}]}]}})"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("state":"draining","aside":"4 items failed here and succeeded on other )"
                      R"(machines","resources":{"cpus":8,"memory":1073741824,)"
                      R"("devices":{"nvidia.com/gpu":8}})"),
            std::string::npos)
      << text;
  EXPECT_EQ(ParseMachines(FormatMachines({}, true))->next, "");
}

TEST(Answers, TheRestComesBackToo) {
  const auto reopened = ParseReopened(FormatReopened(12, 3));
  ASSERT_TRUE(reopened);
  EXPECT_EQ(reopened->items, 12);
  EXPECT_EQ(reopened->round, 3);
  const Problem problem = ProblemOf(Error{Code::kConflict, "render-7 is cancelled"});
  const Problem back = ReadProblem(problem.status, FormatProblem(problem));
  EXPECT_EQ(back.code, "conflict");
  EXPECT_EQ(back.title, problem.title);
  EXPECT_EQ(back.detail, problem.detail);
  EXPECT_EQ(back.next, problem.next);
  EXPECT_EQ(ReadProblem(502, "<html>").detail, "the server answered 502");
  EXPECT_FALSE(ReadProblem(502, "<html>").next.empty());
}

TEST(Answers, ATimeComesBackAsItWent) {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{1'777'636'985'007}}) {
    EXPECT_EQ(ParseTime(FormatTime(ms)), ms);
  }
  for (const char* text : {"", "2026-05-01", "2026-05-01T12:03:05Z", "2026-13-01T12:03:05.007Z",
                           "2026-02-30T12:03:05.007Z", "2026-05-01T24:03:05.007Z",
                           "2026-05-01 12:03:05.007Z", "2026-05-01T12:03:05.0x7Z"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

}  // namespace
}  // namespace tidemill
