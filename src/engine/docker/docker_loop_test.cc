// SPDX-License-Identifier: Apache-2.0
// Loops in containers of a Docker Engine.
#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"
#include "engine/engine_loop_contract.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Docker, LoopEngineTest, testing::Values(kMakeDocker));

namespace {

class DockerLoopTest : public LoopEngineTest {};

INSTANTIATE_TEST_SUITE_P(Docker, DockerLoopTest, testing::Values(kMakeDocker));

TEST_P(DockerLoopTest, TellsTheItemWhoseProgramWasKilledForItsMemory) {
  OpenLoop();
  Give(1, "ok");
  Give(2, "grow");
  Give(3, "kill");
  RunUntilEnds(3);
  EXPECT_EQ(EndOf(1).how, How::kExited);
  EXPECT_EQ(EndOf(2).how, How::kOutOfMemory);
  EXPECT_EQ(EndOf(3).how, How::kSignalled);
}

// Any image, and no program of ours.
TEST_P(DockerLoopTest, IsServedToAShell) {
  auto opened = TryOpen(holder().LoopSpec());
  ASSERT_TRUE(opened) << opened.error().reason;
  container_ = *std::move(opened);
  ItemRun program;
  program.entrypoint = std::vector<std::string>{
      "/bin/sh", "-c",
      "r=; while :; do a=$(busybox wget -q -O - --post-data=\"$r\" \"$TIDEMILL_URL/next\"); "
      "case $a in *true*) exit;; esac; n=$(echo \"$a\" | busybox sed "
      "'s/.*\"item\":\\([0-9]*\\).*/\\1/'); "
      "r=\"{\\\"results\\\":[{\\\"item\\\":$n}]}\"; done"};
  container_->Load(program);
  for (std::uint64_t i = 1; i <= 5; ++i) Give(i, "ok");
  RunUntilEnds(5);
  EXPECT_EQ(Exits(), (std::vector<int>{0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace tidemill
