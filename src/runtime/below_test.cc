// SPDX-License-Identifier: Apache-2.0
#include "runtime/below.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "runtime/scratch_test.h"

namespace tidemill {
namespace {

class RuntimeBelow : public testing::Test {
 protected:
  std::string Program(const std::string& name) {
    std::string path = scratch_.Write(name, "#!/bin/sh\n");
    chmod(path.c_str(), 0755);
    return path;
  }
  const ScratchFolder scratch_;
};

TEST_F(RuntimeBelow, IsTheFirstThatIsThere) {
  const std::string runc = Program("bin/runc");
  const std::string crun = Program("sbin/crun");
  const std::string path = scratch_.path() + "/bin:" + scratch_.path() + "/sbin";
  EXPECT_EQ(*FindRuntimeBelow({"runc", "crun"}, path, ""), runc);
  EXPECT_EQ(*FindRuntimeBelow({"youki", "crun", "runc"}, path, ""), crun);
  EXPECT_EQ(*FindRuntimeBelow({"/no/runc", crun}, path, ""), crun);
}

TEST_F(RuntimeBelow, IsNeverOurselves) {
  const std::string self = Program("bin/runc");
  const std::string real = Program("sbin/runc");
  const std::string path = scratch_.path() + "/bin:" + scratch_.path() + "/sbin";
  EXPECT_EQ(*FindRuntimeBelow({"runc"}, path, self), real);
  EXPECT_FALSE(FindRuntimeBelow({self}, path, self));
}

TEST_F(RuntimeBelow, IsAProgram) {
  scratch_.Write("bin/runc", "not to be run");
  std::filesystem::create_directories(scratch_.path() + "/sbin/runc");
  const auto found = FindRuntimeBelow(
      {"runc", "/no/crun"}, scratch_.path() + "/bin:sbin::" + scratch_.path() + "/sbin", "");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kNotFound);
  EXPECT_EQ(found.error().reason,
            "there is no runtime to hand over to (runc, /no/crun): install one, or name it in "
            "'runtimes' of the config file");
}

TEST_F(RuntimeBelow, IsBecomeOrTheReasonIsTold) {
  EXPECT_EQ(BecomeProgram("/no/runc", {"create"}).reason, "/no/runc: No such file or directory");
}

}  // namespace
}  // namespace tidemill
