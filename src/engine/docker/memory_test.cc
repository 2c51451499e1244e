// SPDX-License-Identifier: Apache-2.0
// Who is told to be out of memory, and what a container may use besides.
#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

// Fills a string in a shell until the kernel ends it; the limit of the container is far below.
constexpr char kGrow[] = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done";

class DockerMemoryTest : public DockerTest {
 protected:
  ItemEnd EndOf(const std::string& script) {
    const std::uint64_t number = ++last_;
    container_->Run(Shell(number, script));
    const std::size_t before = events_.ends.size();
    RunUntilEnds(before + 1);
    return events_.ends.empty() ? ItemEnd{} : events_.ends.back();
  }
};

INSTANTIATE_TEST_SUITE_P(Docker, DockerMemoryTest, testing::Values(kMakeDocker));

TEST_P(DockerMemoryTest, TellsAnItemThatWasKilledForItsMemory) {
  Open();
  const ItemEnd end = EndOf(kGrow);
  EXPECT_EQ(end.how, ItemEnd::How::kOutOfMemory);
  EXPECT_EQ(end.exit, 137);
  EXPECT_EQ(EndOf("exit 0").how, ItemEnd::How::kExited);
}

TEST_P(DockerMemoryTest, TellsOneThatFailsBecauseItsChildWasKilled) {
  Open();
  const ItemEnd end = EndOf(std::string("sh -c '") + kGrow + "'; exit 1");
  EXPECT_EQ(end.how, ItemEnd::How::kOutOfMemory);
  EXPECT_EQ(end.exit, 1);
}

TEST_P(DockerMemoryTest, IsNotToldOfOneThatSucceedsAllTheSame) {
  Open();
  const ItemEnd end = EndOf(std::string("sh -c '") + kGrow + "'; exit 0");
  EXPECT_EQ(end.how, ItemEnd::How::kExited);
  EXPECT_EQ(end.exit, 0);
  // Nor of the next.
  EXPECT_EQ(EndOf("exit 1").how, ItemEnd::How::kExited);
}

TEST_P(DockerMemoryTest, IsNotToldOfOneThatKillsItself) {
  Open();
  EndOf(kGrow);
  const ItemEnd end = EndOf("kill -9 $$");
  EXPECT_EQ(end.how, ItemEnd::How::kSignalled);
  EXPECT_EQ(end.exit, 137);
}

// Each is judged by what was killed while it ran, also when they follow each other at once.
TEST_P(DockerMemoryTest, IsToldOfNoNeighbour) {
  Open();
  for (std::uint64_t i = 1; i <= 8; ++i) {
    container_->Run(Shell(i, i % 2 == 0 ? kGrow : "kill -9 $$"));
  }
  RunUntilEnds(8);
  for (const ItemEnd& end : events_.ends) {
    EXPECT_EQ(end.how, end.number % 2 == 0 ? ItemEnd::How::kOutOfMemory : ItemEnd::How::kSignalled);
  }
}

TEST_P(DockerMemoryTest, IsNotToldOfOneThatWasStopped) {
  Open();
  container_->Run(Shell(1, std::string("sh -c '") + kGrow + "'; echo done; sleep 1000"));
  holder().RunUntil([&] { return LogOf(1).ends_with("done\n"); });
  container_->Stop(1);
  RunUntilEnds(1);
  EXPECT_EQ(events_.ends[0].how, ItemEnd::How::kStopped);
}

TEST_P(DockerMemoryTest, GivesAContainerTheDevicesOfItsSpecAndNoOthers) {
  ContainerSpec spec = holder().Spec();
  spec.devices = {"/dev/loop-control"};
  OpenSpec(spec);
  EXPECT_EQ(Print("test -c /dev/loop-control && echo there; ls /dev/loop0 2>/dev/null"), "there\n");
  EXPECT_NE(Inspect().find(R"("CgroupPermissions":"rw")"), std::string::npos);
  container_.reset();
  Open();
  EXPECT_EQ(Print("test -e /dev/loop-control || echo none"), "none\n");
}

TEST_P(DockerMemoryTest, SaysWhatItsItemsHaveWritten) {
  Open();
  container_->Run(Shell(1,
                        "printf '%04000000d' 1 > $TIDEMILL_SCRATCH/a; "
                        "printf '%03000000d' 1 > /srv/b; echo written; sleep 1000"));
  holder().RunUntil([&] { return LogOf(1) == "written\n"; });
  holder().RunUntil([&] { return container_->Use().disk_bytes > 7'000'000; });
  EXPECT_LT(container_->Use().disk_bytes, 9'000'000);
}

}  // namespace
}  // namespace tidemill
