// SPDX-License-Identifier: Apache-2.0
#include "init/oom_kills.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "init/driven_init.h"

namespace tidemill::init {
namespace {

class OomKillsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = folder_.path() + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

  const TempFolder folder_;
  OomKills kills_{folder_.path() + "/proc", folder_.path() + "/cgroup"};
};

TEST_F(OomKillsTest, AreCountedByVersionOne) {
  Write("proc/self/cgroup", "5:devices:/d\n4:cpu,memory:/docker/abc\n0::/\n");
  const std::string file = "cgroup/memory/docker/abc/memory.oom_control";
  Write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  Write("cgroup/memory.events", "oom_kill 55\n");
  ASSERT_TRUE(kills_.Open());
  EXPECT_EQ(kills_.Count(), 0);
  Write(file, "oom_kill_disable 0\nunder_oom 1\noom_kill 12\n");
  EXPECT_EQ(kills_.Count(), 12);
}

TEST_F(OomKillsTest, AreFoundWhereTheContainersOwnCgroupIsTheRoot) {
  Write("proc/self/cgroup", "4:memory:/docker/abc\n0::/\n");
  Write("cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  ASSERT_TRUE(kills_.Open());
  EXPECT_EQ(kills_.Count(), 3);
}

TEST_F(OomKillsTest, AreCountedByVersionTwo) {
  Write("proc/self/cgroup", "0::/\n");
  const std::string file = "cgroup/memory.events";
  Write(file, "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 9\n");
  ASSERT_TRUE(kills_.Open());
  EXPECT_EQ(kills_.Count(), 1);
  Write(file, "low 0\nhigh 0\nmax 9\noom 3\noom_kill 4\noom_group_kill 9\n");
  EXPECT_EQ(kills_.Count(), 4);
}

TEST_F(OomKillsTest, AreFoundByThePathWhereTheWholeTreeIsSeen) {
  Write("proc/self/cgroup", "0::/system.slice/docker-abc.scope\n");
  Write("cgroup/memory.events", "oom_kill 55\n");
  Write("cgroup/system.slice/docker-abc.scope/memory.events", "oom 1\noom_kill 2\n");
  ASSERT_TRUE(kills_.Open());
  EXPECT_EQ(kills_.Count(), 2);
}

TEST_F(OomKillsTest, AreNoneWhereNobodyCounts) {
  EXPECT_FALSE(kills_.Open());
  EXPECT_EQ(kills_.Count(), 0);
  Write("proc/self/cgroup", "nonsense\n:\n\n4:cpu:/a\n");
  EXPECT_FALSE(kills_.Open());
  // A kernel of before the counter.
  Write("cgroup/memory.events", "oom 1\n");
  EXPECT_TRUE(kills_.Open());
  EXPECT_EQ(kills_.Count(), 0);
}

}  // namespace
}  // namespace tidemill::init
