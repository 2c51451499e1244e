// SPDX-License-Identifier: Apache-2.0
// An agent that dies, and the next one that takes over what runs.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

class DockerAdoptTest : public DockerTest {
 protected:
  // An agent in a process of its own, which gives all of these runs and dies as by kill -9 when the
  // first of them has made its file. It does so itself: somebody else could be too early, between
  // one run and the next.
  void LetAnAgentDie(const ContainerSpec& spec, const std::vector<ItemRun>& runs,
                     const std::optional<ItemRun>& program = std::nullopt) {
    holder_.reset();
    const pid_t agent = fork();
    ASSERT_GE(agent, 0);
    if (agent == 0) {
      holder_ = GetParam()(folder_);
      Recover();
      auto opened = TryOpen(spec);
      if (!opened) _exit(1);
      if (program) (*opened)->Load(*program);
      for (const ItemRun& run : runs) (*opened)->Run(run);
      holder().RunUntil([&] { return HasScratch("on"); });
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(agent, &status, 0), agent);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_TRUE(HasScratch("on"));
    holder_ = GetParam()(folder_);
    adopts_ = true;
  }
  std::string Scratch(const std::string& file) {
    for (const auto& each : std::filesystem::directory_iterator(folder_ + "/containers")) {
      return each.path().string() + "/scratch/" + file;
    }
    return "/none";
  }
  bool HasScratch(const std::string& file) {
    std::error_code error;
    return std::filesystem::exists(folder_ + "/containers", error) &&
           std::filesystem::exists(Scratch(file), error);
  }
  ItemRun Tagged(std::uint64_t number, const std::string& script) {
    ItemRun run = Shell(number, script);
    run.tag = "tag " + std::to_string(number);
    return run;
  }
  const std::string wait_ =
      "cd $TIDEMILL_SCRATCH; touch on; while [ ! -e go ]; do sleep 0.05; done; ";
};

INSTANTIATE_TEST_SUITE_P(Docker, DockerAdoptTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, DockerAdoptTest, testing::Values(kMakeRemappedDocker));

TEST_P(DockerAdoptTest, GetsAllEndsAndNoneTwice) {
  std::vector<ItemRun> runs = {Tagged(1, wait_ + "echo one; exit 3")};
  for (std::uint64_t i = 2; i <= 10; ++i) runs.push_back(Tagged(i, "echo " + std::to_string(i)));
  LetAnAgentDie(holder().Spec(), runs);
  Recover();
  ASSERT_EQ(found_.size(), 1U);
  EXPECT_EQ(found_[0].spec.job, holder().Spec().job);
  EXPECT_EQ(found_[0].spec.limits, holder().Spec().limits);
  EXPECT_EQ(found_[0].spec.image, holder().Spec().image);
  ASSERT_EQ(found_[0].runs.size(), 10U);
  for (const auto& run : found_[0].runs) EXPECT_EQ(run.tag, "tag " + std::to_string(run.number));
  container_ = found_[0].adopt(events_);
  found_.clear();
  EXPECT_EQ(engine().containers(), 1U);
  std::ofstream(Scratch("go")) << "";
  RunUntilEnds(10);
  EXPECT_EQ(Exits(), (std::vector<int>{3, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(LogOf(1), "one\n");
  EXPECT_EQ(LogOf(10), "10\n");
  container_->Run(Shell(11, "exit 4"));
  RunUntilEnds(11);
  EXPECT_EQ(Exits().back(), 4);
  container_.reset();
  RunUntilNothingIsLeft();
  EXPECT_EQ(FoldersLeft(), 0U);
}

TEST_P(DockerAdoptTest, HearsOfWhatEndedMeanwhile) {
  LetAnAgentDie(holder().Spec(), {Tagged(1, wait_ + "exit 3"), Tagged(2, "sleep 1000; true")});
  std::ofstream(Scratch("go")) << "";
  holder().RunUntil([&] { return !HasScratch("on"); });
  Recover();
  ASSERT_EQ(found_.size(), 1U);
  EXPECT_EQ(found_[0].runs.size(), 2U);
  container_ = found_[0].adopt(events_);
  RunUntilEnds(1);
  EXPECT_EQ(events_.ends[0].exit, 3);
  container_->Stop(2);
  RunUntilEnds(2);
  EXPECT_EQ(events_.ends[1].how, ItemEnd::How::kStopped);
}

TEST_P(DockerAdoptTest, EndsWhatNobodyAdopts) {
  LetAnAgentDie(holder().Spec(), {Tagged(1, wait_)});
  Recover();
  ASSERT_EQ(found_.size(), 1U);
  EXPECT_EQ(Marked().empty(), false);
  found_.clear();
  RunUntilNoneIsMarked();
  RunUntilNothingIsLeft();
  EXPECT_EQ(FoldersLeft(), 0U);
}

TEST_P(DockerAdoptTest, TakesOverALoop) {
  ItemRun program;
  program.entrypoint = std::vector<std::string>{
      "/bin/sh", "-c", "touch $TIDEMILL_SCRATCH/on; exec /loop-probe 2", mark_};
  std::vector<ItemRun> items;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ItemRun run;
    run.number = i;
    run.tag = std::to_string(i);
    run.item = "{\"item\":" + std::to_string(i) + ",\"do\":\"" + (i == 3 ? "hang" : "ok") + "\"}";
    items.push_back(run);
  }
  LetAnAgentDie(holder().LoopSpec(), items, program);
  Recover();
  ASSERT_EQ(found_.size(), 1U);
  EXPECT_TRUE(found_[0].spec.loop);
  container_ = found_[0].adopt(events_);
  container_->Stop(3);
  // A loop's ends come in any order.
  const auto ended = [this](auto is_it) {
    return std::any_of(events_.ends.begin(), events_.ends.end(), is_it);
  };
  holder().RunUntil(
      [&] { return ended([](const ItemEnd& end) { return end.how == ItemEnd::How::kStopped; }); });
  ItemRun next = items[0];
  next.number = 4;
  container_->Run(next);
  holder().RunUntil(
      [&] { return ended([](const ItemEnd& end) { return end.number == 4 && end.exit == 0; }); });
}

}  // namespace
}  // namespace tidemill
