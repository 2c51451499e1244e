// SPDX-License-Identifier: Apache-2.0
#include "wire/oci_json.h"

#include <gtest/gtest.h>

#include "wire/tree.h"

namespace tidemill {
namespace {

constexpr AskedBy kBoth = AskedBy::kAnnotationsAndEnvironment;

// In one spelling, so that the order of fields does not matter.
std::string Same(std::string_view json) {
  const auto tree = ParseTree(json);
  return tree ? FormatTree(*tree) : "not JSON: " + tree.error().reason;
}

void ExpectEdit(std::string_view before, const CdiEdits& edits, std::string_view after) {
  const auto edited = EditOciConfig(before, edits);
  ASSERT_TRUE(edited) << edited.error().reason;
  EXPECT_EQ(Same(*edited), Same(after));
}

TEST(OciAsks, AreInAnnotationsAndTheEnvironment) {
  const auto asks = ParseOciAsks(R"({
    "annotations": {"cdi.k8s.io/plugin_1": "a.com/x=0, a.com/x=1", "other": "a.com/x=9",
                    "cdi.k8s.io/z": "b.com/y=2"},
    "process": {"args": ["TIDEMILL_CDI=a.com/x=8"],
                "env": ["A=1", "TIDEMILL_CDI=a.com/x=1,,c.com/z=3", "TIDEMILL_CDIX=a.com/x=7"]},
    "linux": {"annotations": {"cdi.k8s.io/q": "a.com/x=6"}, "env": ["TIDEMILL_CDI=a.com/x=5"]}})",
                                 kBoth);
  ASSERT_TRUE(asks) << asks.error().reason;
  EXPECT_EQ(asks->devices,
            (std::vector<std::string>{"a.com/x=0", "a.com/x=1", "b.com/y=2", "c.com/z=3"}));
  EXPECT_TRUE(asks->asks);
}

TEST(OciAsks, OfTheEnvironmentCountOnlyIfTheyMay) {
  const std::string config = R"({"process":{"env":["TIDEMILL_CDI=a.com/x=1"]},
      "annotations":{"cdi.k8s.io/a":"a.com/x=2"}})";
  EXPECT_EQ(ParseOciAsks(config, AskedBy::kAnnotations)->devices,
            std::vector<std::string>{"a.com/x=2"});
  EXPECT_EQ(ParseOciAsks(config, kBoth)->devices,
            (std::vector<std::string>{"a.com/x=2", "a.com/x=1"}));
}

TEST(OciAsks, LastVariableIsTheOne) {
  EXPECT_EQ(ParseOciAsks(
                R"({"process":{"env":["TIDEMILL_CDI=a.com/x=1","TIDEMILL_CDI=a.com/x=2"]}})", kBoth)
                ->devices,
            std::vector<std::string>{"a.com/x=2"});
}

TEST(OciAsks, AreNoneWhereNothingIsAskedFor) {
  for (const char* config :
       {"{}", "[]", "1", R"({"process":{"env":["A=1"]}})", R"({"annotations":{"a":"b"}})",
        R"({"annotations":null,"process":{"env":null}})", R"({"annotations":["cdi.k8s.io/a"]})",
        R"({"process":{"env":[["TIDEMILL_CDI=a.com/x=1"]]}})",
        R"({"annotations":{"cdi.k8s.io/a":1,"x":{"cdi.k8s.io/b":"a.com/x=1"}}})"}) {
    const auto asks = ParseOciAsks(config, kBoth);
    ASSERT_TRUE(asks) << config;
    EXPECT_EQ(*asks, OciAsks{}) << config;
  }
  // Nothing is asked for, but the variable must not be seen inside.
  EXPECT_EQ(*ParseOciAsks(R"({"process":{"env":["TIDEMILL_CDI="]}})", kBoth), (OciAsks{{}, true}));
}

TEST(OciAsks, AreRefusedWhenTheyCannotBeRead) {
  EXPECT_EQ(ParseOciAsks("{\"process\":", kBoth).error().code, Code::kInvalid);
  EXPECT_EQ(ParseOciAsks("", kBoth).error().code, Code::kInvalid);
  EXPECT_EQ(ParseOciAsks("{} {}", kBoth).error().code, Code::kInvalid);
  std::string many = "a.com/x=0";
  for (int i = 1; i <= 256; ++i) many += ",a.com/x=" + std::to_string(i);
  const auto asks = ParseOciAsks(R"({"annotations":{"cdi.k8s.io/a":")" + many + R"("}})", kBoth);
  ASSERT_FALSE(asks);
  EXPECT_EQ(asks.error().reason, "more than 256 devices are asked for");
}

TEST(OciEdits, VariableTakesThePlaceOfItsNamesake) {
  ExpectEdit(R"({"process":{"env":["A=1","PATH=/bin","A=3","TIDEMILL_CDI=a.com/x=1","AB=4"]}})",
             {.env = {"A=2", "NEW=x=y", "NEW=z"}},
             R"({"process":{"env":["A=2","PATH=/bin","AB=4","NEW=z"]}})");
  ExpectEdit("{}", {.env = {"A=2"}}, R"({"process":{"env":["A=2"]}})");
  ExpectEdit(R"({"process":{"env":null}})", {.env = {"A=2"}}, R"({"process":{"env":["A=2"]}})");
}

TEST(OciEdits, OurOwnVariableGoes) {
  ExpectEdit(R"({"process":{"env":["TIDEMILL_CDI=a","B=1","TIDEMILL_CDI=b"]}})", {},
             R"({"process":{"env":["B=1"]}})");
  ExpectEdit(R"({"hostname":"h"})", {}, R"({"hostname":"h"})");
}

TEST(OciEdits, NodeHasARuleAndTakesThePlaceOfAnother) {
  ExpectEdit(
      R"({"linux":{"devices":[{"path":"/dev/a","type":"c","major":1,"minor":3},
                              {"path":"/dev/b","type":"c","major":1,"minor":5}],
                   "resources":{"devices":[{"allow":false,"access":"rwm"}],
                                "memory":{"limit":-1}}}})",
      {.nodes = {{.path = "/dev/a", .type = 'c', .major = 195, .minor = 0, .permissions = "rw"},
                 {.path = "/dev/d",
                  .type = 'b',
                  .major = 7,
                  .minor = 1,
                  .file_mode = 0660,
                  .permissions = "none",
                  .uid = 5,
                  .gid = 0},
                 {.path = "/dev/u", .type = 'u', .major = 10, .minor = 11},
                 {.path = "/dev/p", .type = 'p'}}},
      R"({"linux":{"devices":[{"path":"/dev/b","type":"c","major":1,"minor":5},
                              {"path":"/dev/a","type":"c","major":195,"minor":0},
                              {"path":"/dev/d","type":"b","major":7,"minor":1,"fileMode":432,
                               "uid":5,"gid":0},
                              {"path":"/dev/u","type":"u","major":10,"minor":11},
                              {"path":"/dev/p","type":"p"}],
                   "resources":{"devices":[{"allow":false,"access":"rwm"},
                       {"allow":true,"type":"c","major":195,"minor":0,"access":"rw"},
                       {"allow":true,"type":"c","major":10,"minor":11,"access":"rwm"}],
                     "memory":{"limit":-1}}}})");
}

TEST(OciEdits, NodeWithoutAnOwnerIsTheUsers) {
  ExpectEdit(
      R"({"process":{"user":{"uid":1000,"gid":0}}})",
      {.nodes = {{.path = "/dev/a", .type = 'c', .major = 1, .minor = 3, .permissions = "none"}}},
      R"({"process":{"user":{"uid":1000,"gid":0}},
                 "linux":{"devices":[{"path":"/dev/a","type":"c","major":1,"minor":3,"uid":1000}],
                          "resources":{"devices":[]}}})");
}

TEST(OciEdits, MountsComeBeforeThoseBeneathThem) {
  ExpectEdit(
      R"({"mounts":[{"destination":"/proc","type":"proc","source":"proc"},
                    {"destination":"/opt/x/y/","type":"bind","source":"/old"},
                    {"destination":"/opt/xx","type":"bind","source":"/s"},
                    {"destination":"/gone","type":"bind","source":"/s"}]})",
      {.mounts =
           {{.host_path = "/h/z", .container_path = "/opt/x/y/z", .options = {"ro"}},
            {.host_path = "/h/g", .container_path = "/gone/", .options = {"rbind"}},
            {.host_path = "/h/y", .container_path = "/opt/x/y", .options = {"ro", "bind"}},
            {.host_path = "/h/x", .container_path = "/opt/x"},
            {.host_path = "t", .container_path = "/t", .type = "tmpfs", .options = {"size=1m"}}}},
      R"({"mounts":[{"destination":"/proc","type":"proc","source":"proc"},
          {"destination":"/opt/xx","type":"bind","source":"/s"},
          {"destination":"/opt/x","type":"bind","source":"/h/x","options":["bind"]},
          {"destination":"/opt/x/y","type":"bind","source":"/h/y","options":["ro","bind"]},
          {"destination":"/opt/x/y/z","type":"bind","source":"/h/z","options":["ro","bind"]},
          {"destination":"/gone/","type":"bind","source":"/h/g","options":["rbind"]},
          {"destination":"/t","type":"tmpfs","source":"t","options":["size=1m"]}]})");
}

TEST(OciEdits, HooksComeAfterThoseThatAreThereOnce) {
  CdiEdits edits;
  edits.hooks = {
      {.stage = HookStage::kPrestart, .path = "/a", .args = {"a", "b"}},
      {.stage = HookStage::kCreateRuntime, .path = "/b"},
      {.stage = HookStage::kCreateContainer, .path = "/c", .env = {"X=1"}},
      {.stage = HookStage::kStartContainer, .path = "/d", .timeout = std::chrono::seconds(5)},
      {.stage = HookStage::kPoststart, .path = "/e"},
      {.stage = HookStage::kPoststop, .path = "/f"},
      {.stage = HookStage::kPrestart, .path = "/g"}};
  const std::string after =
      R"({"hooks":{"prestart":[{"path":"/own"},{"path":"/a","args":["a","b"]},{"path":"/g"}],
                   "createRuntime":[{"path":"/b"}],
                   "createContainer":[{"path":"/c","env":["X=1"]}],
                   "startContainer":[{"path":"/d","timeout":5}],
                   "poststart":[{"path":"/e"}],"poststop":[{"path":"/f"}]}})";
  ExpectEdit(R"({"hooks":{"prestart":[{"path":"/own"}],"poststop":null}})", edits, after);
  ExpectEdit(after, edits, after);
}

TEST(OciEdits, GroupsComeOnceAndNeverRoots) {
  ExpectEdit(R"({"process":{"user":{"additionalGids":[5,6]}}})", {.groups = {6, 0, 7, 7}},
             R"({"process":{"user":{"additionalGids":[5,6,7]}}})");
}

TEST(OciEdits, WhatIsNotOursStays) {
  const auto edited = EditOciConfig(
      R"({"linux":{"resources":{"memory":{"limit":18446744073709551615,
                                            "swap":-9223372036854775808}},
          "x":[1e300,0.1,null,true,"\u0000\ud83d\ude00\/"]},"later":{"process":{"env":1}}})",
      {.env = {"A=1"}});
  ASSERT_TRUE(edited);
  for (const char* part : {"18446744073709551615", "-9223372036854775808", "0.1", "1e+300", "null",
                           "\\u0000", "\xF0\x9F\x98\x80", R"("later":{"process":{"env":1}})"}) {
    EXPECT_NE(edited->find(part), std::string::npos) << part << " in " << *edited;
  }
}

TEST(OciEdits, RefuseWhatIsNotOfItsForm) {
  const CdiEdits all = {.env = {"A=1"},
                        .nodes = {{.path = "/dev/a", .type = 'c', .major = 1, .minor = 3}},
                        .mounts = {{.host_path = "/a", .container_path = "/b"}},
                        .hooks = {{.path = "/a"}},
                        .groups = {1}};
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "the body: must be an object"},
      {"{", "not JSON: it goes wrong at byte 2, near '{'"},
      {R"({"process":1})", "process: must be an object"},
      {R"({"process":{"env":{}}})", "process.env: must be an array"},
      {R"({"process":{"user":[]}})", "process.user: must be an object"},
      {R"({"process":{"user":{"additionalGids":1}}})",
       "process.user.additionalGids: must be an array"},
      {R"({"linux":true})", "linux: must be an object"},
      {R"({"linux":{"devices":"x"}})", "linux.devices: must be an array"},
      {R"({"linux":{"resources":1}})", "linux.resources: must be an object"},
      {R"({"linux":{"resources":{"devices":{}}}})", "linux.resources.devices: must be an array"},
      {R"({"mounts":{}})", "mounts: must be an array"},
      {R"({"hooks":[]})", "hooks: must be an object"},
      {R"({"hooks":{"prestart":{}}})", "hooks.prestart: must be an array"}};
  for (const auto& [config, why] : cases) {
    const auto edited = EditOciConfig(config, all);
    ASSERT_FALSE(edited) << config;
    EXPECT_EQ(edited.error().code, Code::kInvalid);
    EXPECT_EQ(edited.error().reason, why) << config;
  }
  // Elements of another kind are nobody's, and stay.
  EXPECT_TRUE(EditOciConfig(
      R"({"process":{"env":[1]},"mounts":[1,{"destination":2}],"linux":{"devices":[null]}})", all));
}

TEST(OciParts, AreFound) {
  EXPECT_EQ(*ParseOciRoot(R"({"root":{"path":"rootfs"}})"), "rootfs");
  EXPECT_EQ(ParseOciRoot(R"({"root":{}})").error().reason, "root.path: is missing");
  EXPECT_EQ(ParseOciRoot("{}").error().reason, "root: is missing");
  EXPECT_EQ(*ParseOciStateBundle(R"({"ociVersion":"1","bundle":"/b"})"), "/b");
  EXPECT_FALSE(ParseOciStateBundle("{}"));
}

TEST(OciLog, IsAsRuncWritesIt) {
  EXPECT_EQ(
      FormatOciLogLine("error", "a \"b\"", 0, true),
      "{\"level\":\"error\",\"msg\":\"a \\\"b\\\"\",\"time\":\"1970-01-01T00:00:00.000Z\"}\n");
  EXPECT_EQ(FormatOciLogLine("error", "a b", 0, false),
            "time=\"1970-01-01T00:00:00.000Z\" level=error msg=\"a b\"\n");
}

}  // namespace
}  // namespace tidemill
