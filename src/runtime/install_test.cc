// SPDX-License-Identifier: Apache-2.0
#include "runtime/install.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "runtime/scratch_test.h"

namespace tidemill {
namespace {

constexpr char kProgram[] = "/usr/bin/tidemill-runtime";

TEST(Containerd, BlockComesAndGoesWithoutATrace) {
  for (const std::string& before :
       {std::string("version = 2\n"), std::string("# mine\nversion=2\n[plugins]\n  x = 1"),
        std::string(""), std::string("version = 3\n\n\n")}) {
    const auto added = AddContainerdRuntime(before, "tidemill", kProgram);
    ASSERT_TRUE(added) << added.error().reason;
    EXPECT_TRUE(added->starts_with(before));
    EXPECT_NE(added->find("BinaryName = \"/usr/bin/tidemill-runtime\""), std::string::npos);
    EXPECT_EQ(*AddContainerdRuntime(*added, "tidemill", kProgram), *added);
    EXPECT_EQ(RemoveContainerdRuntime(*added, "tidemill"), before);
    EXPECT_EQ(RemoveContainerdRuntime(before, "tidemill"), before);
    // Another name is another block, whichever goes first.
    const auto both = AddContainerdRuntime(*added, "second", kProgram);
    ASSERT_TRUE(both) << both.error().reason;
    EXPECT_EQ(RemoveContainerdRuntime(*both, "second"), *added);
  }
}

TEST(Containerd, TableIsThatOfTheFilesVersion) {
  EXPECT_NE(AddContainerdRuntime("version = 2\n", "t", kProgram)
                ->find("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.t]\n"),
            std::string::npos);
  EXPECT_NE(
      AddContainerdRuntime("version = 3\n", "t", kProgram)
          ->find("[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.t.options]\n"),
      std::string::npos);
  EXPECT_EQ(AddContainerdRuntime("root = '/x'\n[a]\nversion = 2\n", "t", kProgram).error().code,
            Code::kInvalid);
  EXPECT_EQ(AddContainerdRuntime("version = 2\n[plugins.x.containerd.runtimes.t]\n", "t", kProgram)
                .error()
                .code,
            Code::kConflict);
}

TEST(Installer, DocksAndUndocks) {
  const ScratchFolder scratch;
  const std::string config = scratch.Write("daemon.json", "{\n  \"debug\": true\n}\n");
  chmod(config.c_str(), 0600);
  const Installation docker{RuntimeHost::kDocker, config, "tidemill", kProgram};
  const auto told = Install(docker);
  ASSERT_TRUE(told) << told.error().reason;
  EXPECT_EQ(*told, "Wrote " + config +
                       ": the runtime 'tidemill' is /usr/bin/tidemill-runtime.\nNext: systemctl "
                       "reload docker; then: docker run --runtime tidemill -e "
                       "TIDEMILL_CDI=vendor.com/class=name IMAGE\n");
  EXPECT_EQ(*Install(docker), config + " has it already.\n");
  EXPECT_EQ(*Uninstall(docker),
            "Removed 'tidemill' from " + config +
                ".\nNext: systemctl restart docker, when it suits; until then it may know the "
                "name\n");
  EXPECT_EQ(scratch.Read("daemon.json"), "{\n  \"debug\": true\n}\n");
  EXPECT_EQ(*Uninstall(docker), config + " has no runtime 'tidemill' of ours.\n");
  struct stat found{};
  ASSERT_EQ(stat(config.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
}

TEST(Installer, RefusesAFileThatIsNoJsonAndLeavesIt) {
  const ScratchFolder scratch;
  const std::string config = scratch.Write("daemon.json", "{\n  debug\n");
  const auto told = Install({RuntimeHost::kDocker, config, "tidemill", kProgram});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().reason, config + ": line 2: it is not JSON");
  EXPECT_EQ(scratch.Read("daemon.json"), "{\n  debug\n");
}

TEST(Installer, MakesAFileOfCrioAndTakesItAway) {
  const ScratchFolder scratch;
  const std::string config = scratch.path() + "/crio.conf.d/99-tidemill.conf";
  const Installation crio{RuntimeHost::kCrio, config, "tidemill", kProgram};
  ASSERT_TRUE(Install(crio));
  EXPECT_NE(scratch.Read("crio.conf.d/99-tidemill.conf")
                .find("[crio.runtime.runtimes.tidemill]\nruntime_path = "
                      "\"/usr/bin/tidemill-runtime\"\n"),
            std::string::npos);
  ASSERT_TRUE(Uninstall(crio));
  EXPECT_FALSE(std::filesystem::exists(config));
  scratch.Write("crio.conf.d/99-tidemill.conf", "[crio]\n");
  EXPECT_EQ(Install(crio).error().code, Code::kConflict);
  EXPECT_TRUE(Uninstall(crio)->ends_with("of ours.\n"));
}

TEST(Installer, RefusesNamesThatWouldBreakAFile) {
  const ScratchFolder scratch;
  for (const char* name : {"", "runc", "a b", "a\"b", "a]", "A", "a.b"}) {
    const auto told =
        Install({RuntimeHost::kContainerd, scratch.path() + "/c.toml", name, kProgram});
    ASSERT_FALSE(told) << name;
    EXPECT_EQ(told.error().code, Code::kInvalid);
  }
  EXPECT_FALSE(Install({RuntimeHost::kDocker, scratch.path() + "/d", "t", "/a\"b"}));
  EXPECT_TRUE(scratch.Names().empty());
}

}  // namespace
}  // namespace tidemill
