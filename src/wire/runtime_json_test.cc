// SPDX-License-Identifier: Apache-2.0
#include "wire/runtime_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(RuntimeConfig, IsRead) {
  const auto config = ParseRuntimeConfig(R"({"runtimes":["/opt/crun","runc"],"driver-root":"/run/d",
      "log":"/var/log/t","cdi-folders":["/a","/b"],"hook-folders":["/h"],
      "from-environment":false})");
  ASSERT_TRUE(config) << config.error().reason;
  EXPECT_EQ(*config, (RuntimeConfig{.runtimes = {"/opt/crun", "runc"},
                                    .driver_root = "/run/d",
                                    .log = "/var/log/t",
                                    .cdi_folders = {"/a", "/b"},
                                    .hook_folders = {"/h"},
                                    .from_environment = false}));
  EXPECT_EQ(*ParseRuntimeConfig("{}"), RuntimeConfig{});
  EXPECT_EQ(*ParseRuntimeConfig("null"), RuntimeConfig{});
}

TEST(RuntimeConfig, IsStrict) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"runtims":[]})", "runtims: unknown field; did you mean 'runtimes'?"},
      {R"({"runtimes":[]})", "runtimes: must not be empty"},
      {R"({"runtimes":["bin/runc"]})", "runtimes: must be names, such as runc, or whole paths"},
      {R"({"log":"x.log"})", "log: must be a whole path, such as /var/log/x.log"},
      {R"({"cdi-folders":["etc"]})", "cdi-folders: must be whole paths, such as /etc/cdi"},
      {R"({"cdi-folders":"/etc"})", "cdi-folders: must be an array, not a string"},
      {R"({"from-environment":"no"})", "from-environment: must be true or false, not a string"},
      {R"([])", "the body: must be an object, not an array"}};
  for (const auto& [text, why] : cases) {
    const auto config = ParseRuntimeConfig(text);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().reason, why) << text;
  }
}

TEST(HookFile, IsReadStageByStage) {
  const auto hooks = ParseHookFile(R"({"hooks":{
      "poststop":[{"path":"/b"}],
      "prestart":[{"path":"/a","args":["a","x"],"env":["A=1"],"timeout":3}]}})");
  ASSERT_TRUE(hooks) << hooks.error().reason;
  EXPECT_EQ(*hooks, (std::vector<OciHook>{{.stage = HookStage::kPrestart,
                                           .path = "/a",
                                           .args = {"a", "x"},
                                           .env = {"A=1"},
                                           .timeout = std::chrono::seconds(3)},
                                          {.stage = HookStage::kPoststop, .path = "/b"}}));
}

TEST(HookFile, IsStrict) {
  for (const auto& [text, why] : std::vector<std::pair<const char*, const char*>>{
           {R"({})", "hooks: is missing"},
           {R"({"hooks":{"prestrat":[]}})",
            "hooks.prestrat: unknown field; did you mean 'prestart'?"},
           {R"({"hooks":{"prestart":[{}]}})", "hooks.prestart[0].path: is missing"},
           {R"({"hooks":{"prestart":[{"path":"a"}]}})",
            "hooks.prestart[0].path: must be a whole path"},
           {R"({"hooks":{"prestart":[{"path":"/a","arg":[]}]}})",
            "hooks.prestart[0].arg: unknown field; did you mean 'args'?"},
           {R"({"hooks":{"prestart":[{"path":"/a","env":["A"]}]}})",
            "hooks.prestart[0].env: must be a list of NAME=value"},
           {R"({"hooks":{"prestart":[{"path":"/a","timeout":-1}]}})",
            "hooks.prestart[0].timeout: must be from 0 to 600"},
           {R"({"hooks":[],"x":1})", "x: unknown field; known are 'hooks'"}}) {
    const auto hooks = ParseHookFile(text);
    ASSERT_FALSE(hooks) << text;
    EXPECT_EQ(hooks.error().reason, why) << text;
  }
}

TEST(DockerDaemon, GetsARuntimeAndKeepsAllElse) {
  EXPECT_EQ(*AddDockerRuntime("", "tidemill", "/bin/tidemill-runtime"),
            "{\n  \"runtimes\": {\n    \"tidemill\": {\n"
            "      \"path\": \"/bin/tidemill-runtime\"\n    }\n  }\n}\n");
  const std::string before =
      "{\n    \"log-level\": \"debug\",\n    \"default-shm-size\": \"1G\",\n"
      "    \"x\": 18446744073709551615\n}\n";
  const auto added = AddDockerRuntime(before, "tidemill", "/bin/tidemill-runtime");
  ASSERT_TRUE(added);
  EXPECT_EQ(*added, before.substr(0, before.size() - 3) +
                        ",\n    \"runtimes\": {\n        \"tidemill\": {\n"
                        "            \"path\": \"/bin/tidemill-runtime\"\n        }\n    }\n}\n");
  EXPECT_EQ(*AddDockerRuntime(*added, "tidemill", "/bin/tidemill-runtime"), *added);
  EXPECT_EQ(*RemoveDockerRuntime(*added, "tidemill"), before);
  EXPECT_EQ(*RemoveDockerRuntime(before, "tidemill"), before);
  const std::string other = R"({"runtimes":{"kata":{"path":"/k"}}})";
  EXPECT_EQ(
      *RemoveDockerRuntime(*AddDockerRuntime(other, "tidemill", "/tidemill-runtime"), "tidemill"),
      "{\n  \"runtimes\": {\n    \"kata\": {\n      \"path\": \"/k\"\n    }\n  }\n}\n");
}

TEST(DockerDaemon, IsRefusedIfItIsNoneOrTheNameIsTaken) {
  const auto why = [](const char* text) {
    const auto added = AddDockerRuntime(text, "tidemill", "/tidemill-runtime");
    return added ? "taken" : added.error().reason;
  };
  EXPECT_EQ(why("{\n  \"a\": 1\n  \"b\": 2\n}"), "line 3: it is not JSON");
  EXPECT_EQ(why("{\n  \"a\": 1,\n}\n"), "line 3: it is not JSON");
  EXPECT_EQ(why("[]"), "line 1: it must be an object");
  EXPECT_EQ(why(R"({"a":1,"a":2})"), "the field 'a' is there twice");
  EXPECT_EQ(why(R"({"runtimes":[]})"), "runtimes: must be an object");
  EXPECT_EQ(why(R"({"runtimes":{"tidemill":{"path":"/other"}}})"),
            "runtimes.tidemill is another program's; choose another name with --name");
  const std::string theirs = R"({"runtimes":{"tidemill":{"path":"/other"}}})";
  EXPECT_EQ(RemoveDockerRuntime(theirs, "tidemill").error().code, Code::kConflict);
  const std::string is_default =
      R"({"default-runtime":"tidemill","runtimes":{"tidemill":{"path":"/a/tidemill-runtime"}}})";
  EXPECT_EQ(RemoveDockerRuntime(is_default, "tidemill").error().code, Code::kConflict);
}

TEST(CdiList, IsForPrograms) {
  EXPECT_EQ(FormatCdiList({{"a.com/x", "0"}}, {"/etc/cdi/a: \"b\""}),
            "{\"devices\":[\"a.com/x=0\"],\"troubles\":[\"/etc/cdi/a: \\\"b\\\"\"]}\n");
}

}  // namespace
}  // namespace tidemill
