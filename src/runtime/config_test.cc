// SPDX-License-Identifier: Apache-2.0
#include "runtime/config.h"

#include <gtest/gtest.h>

#include "runtime/scratch_test.h"

namespace tidemill {
namespace {

TEST(RuntimeConfigFile, IsYamlAndMayBeAbsent) {
  const ScratchFolder scratch;
  EXPECT_EQ(*ReadRuntimeConfig(scratch.path() + "/none"), RuntimeConfig{});
  EXPECT_EQ(*ReadRuntimeConfig(scratch.Write("empty", "# nothing is said\n")), RuntimeConfig{});
  const auto config =
      ReadRuntimeConfig(scratch.Write("some", "runtimes: [crun]\n# a comment\nlog: /var/log/x\n"));
  ASSERT_TRUE(config) << config.error().reason;
  EXPECT_EQ(*config, (RuntimeConfig{.runtimes = {"crun"}, .log = "/var/log/x"}));
}

TEST(RuntimeConfigFile, FaultsHaveTheirLine) {
  const ScratchFolder scratch;
  const auto why = [&](const std::string& text) {
    const auto config = ReadRuntimeConfig(scratch.Write("c", text));
    return config ? "taken" : config.error().reason.substr(scratch.path().size());
  };
  EXPECT_EQ(why("runtimes: [runc]\n\nlogg: /x\n"),
            "/c:3: logg: unknown field; did you mean 'log'?");
  EXPECT_EQ(why("log: /x\nfrom-environment: maybe\n"),
            "/c:2: from-environment: must be true or false, not a string");
  EXPECT_TRUE(why("log: [\n").starts_with("/c:")) << why("log: [\n");
  EXPECT_EQ(why("log: /x\nlog: /y\n").substr(0, 5), "/c:2:");
}

TEST(HookFolders, AreReadInTheOrderOfNames) {
  const ScratchFolder scratch;
  scratch.Write("one/20.json", R"({"hooks":{"prestart":[{"path":"/b"}]}})");
  scratch.Write("one/10.json", R"({"hooks":{"poststop":[{"path":"/a"}]}})");
  scratch.Write("one/readme.txt", "no hook");
  scratch.Write("two/00.json", R"({"hooks":{"prestart":[{"path":"/c"}]}})");
  const auto hooks =
      ReadHookFolders({scratch.path() + "/one", scratch.path() + "/none", scratch.path() + "/two"});
  ASSERT_TRUE(hooks) << hooks.error().reason;
  EXPECT_EQ(*hooks, (std::vector<OciHook>{{.stage = HookStage::kPoststop, .path = "/a"},
                                          {.stage = HookStage::kPrestart, .path = "/b"},
                                          {.stage = HookStage::kPrestart, .path = "/c"}}));
  EXPECT_TRUE(ReadHookFolders({})->empty());
}

TEST(HookFolders, AFileThatIsWrongIsNotLeftOut) {
  const ScratchFolder scratch;
  scratch.Write("a.json", "{\"hooks\": {\n  \"prestart\": [\n    {\"path\": \"a\"}]}}");
  const auto hooks = ReadHookFolders({scratch.path()});
  ASSERT_FALSE(hooks);
  EXPECT_EQ(hooks.error().reason,
            scratch.path() + "/a.json:3: hooks.prestart[0].path: must be a whole path");
}

}  // namespace
}  // namespace tidemill
