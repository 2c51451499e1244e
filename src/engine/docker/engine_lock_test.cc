// SPDX-License-Identifier: Apache-2.0
// Several processes may run the tests of this program, each a part of them, against the same
// Engines. Tests whose instantiation is called DockerAlone end the Engine, or change its network or
// the machine's rules: no other test runs meanwhile, in whichever process.
#include <fcntl.h>
#include <sys/file.h>

#include <string>

#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

// Held from before a test's fixture is made until after it is destroyed. What a test forks shares
// it.
class EngineLock : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string suite = test.test_suite_name();
    if (suite.find('/') == std::string::npos) return;  // without an Engine
    const std::string path = DockerSocket() + ".lock";
    lock_ = Fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(lock_) << path;
    const bool alone = suite.starts_with("DockerAlone/");
    ASSERT_EQ(flock(lock_.get(), alone ? LOCK_EX : LOCK_SH), 0);
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { lock_.Reset(); }

 private:
  Fd lock_;
};

// gtest owns the listener.
const bool kIsListening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new EngineLock);
  return true;
}();

}  // namespace
}  // namespace tidemill
