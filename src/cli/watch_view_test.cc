// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_view.h"

#include <gtest/gtest.h>

#include "cli/console.h"
#include "cli/format.h"

namespace tidemill::cli {
namespace {

JobCounts Answer(std::int64_t succeeded, std::int64_t failed, std::int64_t running,
                 std::int64_t waiting) {
  JobCounts answer;
  answer.job.id.number = 7;
  answer.job.spec.name = "render";
  answer.job.state = JobState::kActive;
  answer.counts = {succeeded + failed + running + waiting, succeeded, failed, running, waiting, 0};
  return answer;
}

std::string JoinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(WatchView, ShowsBarCountsRateAndTimeLeft) {
  WatchView view;
  view.Add(0, Answer(100'000, 12, 3'000, 146'988));
  view.Add(10'000, Answer(101'000, 12, 3'000, 145'988));
  EXPECT_EQ(JoinLines(view.Frame(10'000, 80, false)),
            "render-7  ━━━━━━━━━━━━━━━━━━───────────────────────────  101,012 / 250,000  40 %\n"
            "  succeeded 101,000   failed 12   running 3,000   waiting 145,988\n"
            "  rate 100/s   25 min left\n");
}

TEST(WatchView, FitsEveryWidth) {
  WatchView view;
  view.Add(0, Answer(1, 1'000'000, 1'000'000, 1'000'000));
  JobCounts paused = Answer(5, 1'000'000, 1'000'000, 1'000'000);
  paused.job.state = JobState::kPaused;
  paused.job.reason = "the first 20 attempts all failed alike, which costs money for nothing";
  view.Add(20'000, paused);
  for (std::size_t width = 20; width < 120; ++width) {
    for (const std::string& line : view.Frame(20'000, width, false)) {
      EXPECT_LE(WidthOf(line), width) << line;
    }
    EXPECT_LE(WidthOf(view.PlainLine(width)), width);
  }
}

TEST(WatchView, ShowsWhatItCostsAndWhenItWillBeDone) {
  WatchView view;
  view.Add(0, Answer(100'000, 12, 3'000, 146'988));
  view.Add(10'000, Answer(101'000, 12, 3'000, 145'988));
  WatchDetails details;
  details.cost.emplace();
  details.cost->spent = {184'120'000};
  details.cost->lost = {2'100'000};
  details.cost->cost_an_item = Money{1'242};
  details.cost->budget = Money{500'000'000};
  details.cost->forecast = JobForecast{3200,
                                       std::chrono::minutes(130),
                                       std::chrono::minutes(118),
                                       std::chrono::minutes(151),
                                       {331'000'000},
                                       {310'000'000},
                                       {390'000'000}};
  details.cost->machines = {0, 3, 812, 0};
  details.cost->working = 809;
  view.SetDetails(details);
  EXPECT_EQ(JoinLines(view.Frame(10'000, 80, false)),
            "render-7  ━━━━━━━━━━━━━━━━━━───────────────────────────  101,012 / 250,000  40 %\n"
            "  succeeded 101,000   failed 12   running 3,000   waiting 145,988\n"
            "  rate 100/s   2 h 10 min left (1 h 58 min to 2 h 31 min)\n"
            "  $184.12 so far, $0.0012 an item, $2.10 lost to interruptions\n"
            "  $331.00 by the end ($310.00 to $390.00) of a budget of $500.00\n"
            "  machines: 809 work for it; its pools have 3 booting, 812 joined\n");
  for (std::size_t width = 20; width < 120; ++width) {
    for (const std::string& line : view.Frame(10'000, width, false)) {
      EXPECT_LE(WidthOf(line), width) << line;
    }
  }
  // A server that says nothing of it: as before.
  view.SetDetails({});
  EXPECT_NE(JoinLines(view.Frame(10'000, 80, false)).find("  rate 100/s   25 min left\n"),
            std::string::npos);
}

TEST(WatchView, MeasuresTheRateOverTheLastHalfMinuteOnly) {
  WatchView view;
  view.Add(0, Answer(0, 0, 10, 9'990));
  EXPECT_FALSE(view.Rate());
  for (int second = 1; second <= 60; ++second) {
    // Ten a second at first, then one.
    const std::int64_t done = second <= 30 ? second * 10 : 300 + (second - 30);
    view.Add(second * 1000, Answer(done, 0, 10, 9'990 - done));
  }
  ASSERT_TRUE(view.Rate());
  EXPECT_NEAR(*view.Rate(), 1.0, 0.01);
}

TEST(WatchView, ForgetsTheRateWhenItemsAreRetried) {
  WatchView view;
  view.Add(0, Answer(0, 0, 10, 90));
  view.Add(5'000, Answer(50, 10, 10, 30));
  ASSERT_TRUE(view.Rate());
  JobCounts again = Answer(50, 0, 0, 50);
  again.job.round = 1;
  view.Add(6'000, again);
  EXPECT_FALSE(view.Rate());
}

TEST(WatchView, SaysWhyAJobIsPausedAndHowItGoesOn) {
  WatchView view;
  JobCounts answer = Answer(0, 20, 0, 80);
  answer.job.state = JobState::kPaused;
  answer.job.reason = "the first 20 attempts all failed";
  view.Add(0, answer);
  const std::string text = JoinLines(view.Frame(0, 80, false));
  EXPECT_NE(text.find("  paused: the first 20 attempts all failed\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tidemill resume render-7"), std::string::npos) << text;
  EXPECT_NE(view.PlainLine(100).find("paused: the first"), std::string::npos);
}

TEST(WatchView, WondersAboutMachinesOnlyAfterAWhile) {
  WatchView view;
  view.Add(0, Answer(0, 0, 0, 100));
  view.Add(5'000, Answer(0, 0, 0, 100));
  EXPECT_EQ(JoinLines(view.Frame(5'000, 80, false)).find("nothing runs"), std::string::npos);
  view.Add(12'000, Answer(0, 0, 0, 100));
  EXPECT_NE(JoinLines(view.Frame(12'000, 80, false)).find("nothing runs"), std::string::npos);
  // Something moved: the wait begins anew.
  view.Add(13'000, Answer(1, 0, 0, 99));
  EXPECT_EQ(JoinLines(view.Frame(13'000, 80, false)).find("nothing runs"), std::string::npos);
}

TEST(WatchView, SaysThatTheServerIsSilentUntilItAnswers) {
  WatchView view;
  view.Add(0, Answer(0, 0, 1, 99));
  view.AddSilence(1'000, "connection refused");
  view.AddSilence(13'000, "connection refused");
  EXPECT_EQ(view.SilentFor(13'000), 12'000);
  EXPECT_NE(
      JoinLines(view.Frame(13'000, 100, false)).find("not answered for 12 s (connection refused)"),
      std::string::npos);
  view.Add(14'000, Answer(0, 0, 1, 99));
  EXPECT_FALSE(view.SilentFor(14'000));
}

TEST(WatchView, HasChangedOnlyIfTheCountsHave) {
  WatchView view;
  view.Add(0, Answer(0, 0, 1, 99));
  EXPECT_TRUE(view.TakeChanged());
  view.Add(1'000, Answer(0, 0, 1, 99));
  EXPECT_FALSE(view.TakeChanged());
  view.Add(2'000, Answer(1, 0, 1, 98));
  EXPECT_TRUE(view.TakeChanged());
}

TEST(WatchView, ShowsProgressAndCausesAndWhatIsWaitedFor) {
  WatchView view;
  JobCounts answer = Answer(10, 2, 3, 85);
  answer.job.spec.resources.memory_bytes = std::int64_t{2} << 30;
  answer.job.memory_bytes = std::int64_t{4} << 30;
  view.Add(0, answer);
  ListedMachine machine;
  machine.status = MachineStatus{};
  machine.status->jobs.resize(2);
  machine.status->jobs[0].job = {7};
  machine.status->jobs[0].progress = {{17, 400, "epoch 3 of 10"}, {3, 1000, ""}};
  machine.status->jobs[1].job = {8};
  machine.status->jobs[1].progress = {{99, 1, "another job's"}};
  ListedMachine pulling;
  pulling.status = MachineStatus{};
  pulling.status->jobs.resize(1);
  pulling.status->jobs[0].job = {7};
  pulling.status->jobs[0].waits_for = "pulling its image: 40 %";
  WatchDetails details;
  AddMachines(details, {machine, pulling, pulling}, {7});
  details.causes = FailuresOf(
      {{"succeeded", 10}, {"failed", 2}, {"out-of-memory", 1'234}, {"lost", 0}, {"total", 1'246}});
  view.SetDetails(details);
  EXPECT_EQ(JoinLines(view.Frame(0, 80, false)),
            "render-7  ━━━━━───────────────────────────────────────────  12 / 100  12 %\n"
            "  succeeded 10   failed 2   running 3   waiting 85\n"
            "  memory raised to 4 GiB an item: 2 GiB was not enough for many\n"
            "  attempts that did not succeed: out of memory 1,234, exit or signal 2\n"
            "  2 machines are pulling its image: 40 %\n"
            "  item  3  ━━━━━━━━━━━━━━━━━━━━  100 %\n"
            "  item 17  ━━━━━━━━────────────  40 %  epoch 3 of 10\n");
  for (std::size_t width = 20; width < 120; ++width) {
    for (const std::string& line : view.Frame(0, width, false)) {
      EXPECT_LE(WidthOf(line), width) << line;
    }
  }
}

TEST(WatchView, ShowsOnlyAFewOfManyThatSayHowFarTheyAre) {
  ListedMachine machine;
  machine.status = MachineStatus{};
  machine.status->jobs.resize(1);
  machine.status->jobs[0].job = {7};
  for (int i = 0; i < 8; ++i) machine.status->jobs[0].progress.push_back({9 - i, 1, "\x1b[2J"});
  WatchDetails details;
  AddMachines(details, {machine, machine}, {7});
  const auto lines = DetailLines(details, 80, false);
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_TRUE(lines[0].starts_with("  item 2"));
  EXPECT_EQ(lines[0].find('\x1b'), std::string::npos);
}

TEST(WatchView, SaysThatAJobIsOnTrial) {
  WatchView view;
  JobCounts answer = Answer(0, 0, 20, 80);
  answer.job.trial = true;
  view.Add(0, answer);
  EXPECT_NE(JoinLines(view.Frame(0, 80, false))
                .find("  on trial: at most 20 items at a time until one has succeeded\n"),
            std::string::npos);
}

TEST(Bar, IsFullOnlyWhenAllIsDone) {
  EXPECT_EQ(Bar(0, 10, 4, false), "────");
  EXPECT_EQ(Bar(5, 10, 4, false), "━━──");
  EXPECT_EQ(Bar(999, 1000, 4, false), "━━━─");
  EXPECT_EQ(Bar(10, 10, 4, false), "━━━━");
  EXPECT_EQ(Bar(0, 0, 4, false), "────");
}

TEST(EndText, NamesTheNextStepIfItemsFailed) {
  JobCounts ended = Answer(98, 2, 0, 0);
  ended.job.state = JobState::kFinished;
  EXPECT_EQ(EndText(ended, 9'000, {"  1  2 items: out of memory (items 3, 4)"}),
            "render-7 finished: 98 succeeded, 2 failed, in 9 s\n"
            "  1  2 items: out of memory (items 3, 4)\n"
            "Look:  tidemill failures render-7");
  EXPECT_EQ(ExitOf(ended), kFailed);
  ended.counts = {100, 100, 0, 0, 0, 0};
  EXPECT_EQ(EndText(ended, {}, {}), "render-7 finished: all 100 items succeeded");
  EXPECT_EQ(ExitOf(ended), kDone);
  ended.job.state = JobState::kCancelled;
  ended.counts = {100, 90, 0, 0, 0, 10};
  EXPECT_EQ(EndText(ended, {}, {}), "render-7 cancelled: 90 succeeded, 0 failed, 10 cancelled");
  EXPECT_EQ(ExitOf(ended), kCancelled);
}

}  // namespace
}  // namespace tidemill::cli
