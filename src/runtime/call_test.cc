// SPDX-License-Identifier: Apache-2.0
#include "runtime/call.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Args = std::vector<std::string>;

TEST(RuntimeCall, IsReadAsContainerdMakesIt) {
  const RuntimeCall call = ReadRuntimeCall(
      {"--root", "/run/moby", "--log", "/b/log.json", "--log-format", "json", "--systemd-cgroup",
       "create", "--bundle", "/b", "--pid-file", "/b/init.pid", "--no-new-keyring", "id"});
  EXPECT_EQ(call, (RuntimeCall{.command = "create",
                               .bundle = "/b",
                               .config_file = "config.json",
                               .log = "/b/log.json",
                               .log_json = true}));
  EXPECT_EQ(call.ConfigPath(), "/b/config.json");
}

TEST(RuntimeCall, KnowsEachSpellingOfABundle) {
  for (const Args& args :
       {Args{"create", "-b", "/x", "id"}, Args{"create", "-b=/x", "id"},
        Args{"create", "-bundle", "/x", "id"}, Args{"create", "--bundle=/x", "id"},
        Args{"run", "-d", "--bundle", "/x", "id"}, Args{"run", "id", "--bundle", "/x"},
        Args{"create", "-b/x", "id"}, Args{"create", "-b", "/y", "--bundle", "/x", "id"},
        Args{"--debug", "run", "--preserve-fds", "3", "-b", "/x", "id"},
        Args{"-root", "create", "run", "--console-socket", "-b", "-b", "/x", "id"}}) {
    EXPECT_EQ(ReadRuntimeCall(args).bundle, "/x") << testing::PrintToString(args);
    EXPECT_TRUE(ReadRuntimeCall(args).MakesContainer());
  }
  EXPECT_EQ(ReadRuntimeCall({"run", "id"}).ConfigPath(), "./config.json");
  EXPECT_EQ(ReadRuntimeCall({"run", "--", "--bundle", "/x"}).bundle, ".");
}

TEST(RuntimeCall, KnowsCrunsOtherConfigFile) {
  EXPECT_EQ(ReadRuntimeCall({"run", "-b", "/x", "-f", "c.json", "id"}).ConfigPath(), "/x/c.json");
  EXPECT_EQ(ReadRuntimeCall({"run", "--config=/c.json", "id"}).ConfigPath(), "/c.json");
}

TEST(RuntimeCall, FindsTheCommandBehindFlagsThatNobodyKnows) {
  EXPECT_EQ(ReadRuntimeCall({"--new", "value", "create", "id"}).command, "create");
  EXPECT_EQ(ReadRuntimeCall({"--new", "create", "id"}).command, "create");
  EXPECT_EQ(ReadRuntimeCall({"--new=1", "create", "id"}).command, "create");
  EXPECT_EQ(ReadRuntimeCall({"--new", "--log", "l", "create"}).log, "l");
  EXPECT_EQ(ReadRuntimeCall({"--rootless", "true", "create"}).command, "create");
  EXPECT_EQ(ReadRuntimeCall({"--cgroup-manager", "disabled", "create"}).command, "create");
}

TEST(RuntimeCall, OthersMakeNoContainer) {
  for (const Args& args : {Args{}, Args{"--version"}, Args{"--root"}, Args{"--root", "create"},
                           Args{"delete", "--force", "create"}, Args{"exec", "id", "run"},
                           Args{"restore", "--bundle", "/x", "id"}, Args{"kill", "id"},
                           Args{"--log", "run", "state", "id"}, Args{"-h"}}) {
    EXPECT_FALSE(ReadRuntimeCall(args).MakesContainer()) << testing::PrintToString(args);
  }
}

}  // namespace
}  // namespace tidemill
