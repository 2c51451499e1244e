// SPDX-License-Identifier: Apache-2.0
#include "wire/cdi_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "wire/cdi_format.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

TEST(CdiJson, EveryFieldIsRead) {
  const auto spec = ParseCdiSpec(R"({
      "cdiVersion": "0.7.0", "kind": "vendor.com/gpu.x", "annotations": {"a.b/c": "d"},
      "devices": [
        {"name": "0", "annotations": {"model": ""},
         "containerEdits": {"deviceNodes": [
           {"path": "/dev/gpu0", "hostPath": "/dev/host0", "type": "c", "major": 195, "minor": 7,
            "fileMode": 438, "permissions": "wr", "uid": 0, "gid": 4294967294},
           {"path": "/dev/gpuctl", "type": "b", "major": 1, "permissions": "none"},
           {"path": "/run/fifo", "type": "p", "permissions": ""}]}},
        {"name": "b:1", "containerEdits": {"additionalGIDs": [0, 44]}}],
      "containerEdits": {
        "env": ["A=", "B=c=d\t"],
        "mounts": [{"hostPath": "/lib/a", "containerPath": "/lib/b", "type": "bind",
                    "options": ["ro", "bind"]},
                   {"hostPath": "/", "containerPath": "/host"}],
        "hooks": [{"hookName": "createContainer", "path": "/bin/x", "args": ["x", "", "a\nb"],
                   "env": ["P=/bin"], "timeout": 5},
                  {"hookName": "poststop", "path": "/bin/y"}],
        "additionalGids": [44, 45]}})");
  ASSERT_TRUE(spec) << spec.error().reason;
  CdiSpec wanted;
  wanted.version = "0.7.0";
  wanted.kind = "vendor.com/gpu.x";
  wanted.annotations = {{"a.b/c", "d"}};
  CdiDevice first{.name = "0", .annotations = {{"model", ""}}};
  first.edits.nodes = {
      {.path = "/dev/gpu0",
       .host_path = "/dev/host0",
       .type = 'c',
       .major = 195,
       .minor = 7,
       .file_mode = 0666,
       .permissions = "wr",
       .uid = 0,
       .gid = 4294967294},
      {.path = "/dev/gpuctl", .type = 'b', .major = 1, .minor = 0, .permissions = "none"},
      {.path = "/run/fifo", .type = 'p'}};
  CdiDevice second{.name = "b:1"};
  second.edits.groups = {44};
  wanted.devices = {first, second};
  wanted.edits.env = {"A=", "B=c=d\t"};
  wanted.edits.mounts = {{"/lib/a", "/lib/b", "bind", {"ro", "bind"}}, {"/", "/host"}};
  wanted.edits.hooks = {
      {HookStage::kCreateContainer, "/bin/x", {"x", "", "a\nb"}, {"P=/bin"}, seconds(5)},
      {HookStage::kPoststop, "/bin/y"}};
  wanted.edits.groups = {44, 45};
  EXPECT_EQ(*spec, wanted);
  const auto again = ParseCdiSpec(FormatCdiSpec(*spec));
  ASSERT_TRUE(again) << again.error().reason;
  EXPECT_EQ(*again, wanted);
}

TEST(CdiJson, EachVersionIsKnownAlsoWithAnOldFashionedV) {
  for (const char* version :
       {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0", "v0.6.0"}) {
    const auto spec = ParseCdiSpec(R"({"cdiVersion": ")" + std::string(version) + R"(", "kind":)" +
                                   R"("a/b", "devices": [{"name": "c", "containerEdits":)" +
                                   R"({"env": ["A=b"]}}]})");
    ASSERT_TRUE(spec) << spec.error().reason;
    EXPECT_EQ("v" + spec->version, version[0] == 'v' ? version : "v" + std::string(version));
  }
}

TEST(CdiJson, WhatIsTooLargeIsNotLookedAt) {
  const auto spec = ParseCdiSpec(std::string(kCdiJsonBytes + 1, ' '));
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().reason, "more than 6291456 bytes");
  const auto empty = ParseCdiSpec(std::string(1000, ' '));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().reason.substr(0, 8), "not JSON");
}

TEST(CdiJson, ASpecIsWrittenInLines) {
  CdiSpec spec{.version = "0.6.0", .kind = "a/b"};
  spec.devices = {{.name = "c", .edits = {.nodes = {{.path = "/dev/c", .permissions = "rw"}}}}};
  EXPECT_EQ(FormatCdiSpec(spec), R"({
  "cdiVersion": "0.6.0",
  "kind": "a/b",
  "devices": [
    {
      "name": "c",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/c",
            "permissions": "rw"
          }
        ]
      }
    }
  ]
}
)");
}

// Any spec that there may be, out of a seed.
class SpecMaker {
 public:
  explicit SpecMaker(std::uint64_t seed) : random_(seed) {}

  CdiSpec Make() {
    CdiSpec spec;
    spec.version = OneOf({"0.7.0", "0.8.0", "1.0.0", "1.1.0"});
    spec.kind = "vendor.com/x" + Word("aZ9_-.") + "x";
    spec.annotations = {{"k." + Word("ab") + "/n", Word(kLetters)}};
    spec.edits = Edits();
    for (int i = Below(4); i >= 0; --i) {
      CdiDevice device{.name = std::to_string(i) + Word("ab09:-") + "x", .edits = Edits()};
      if (Below(2) == 0) device.annotations = {{"a", Word(kLetters)}};
      device.edits.env.push_back("NOT=empty");
      spec.devices.push_back(device);
    }
    return spec;
  }

 private:
  // Some of them must be escaped.
  static constexpr const char* kLetters = "ab/ \"\\'{}[]:#,&*-";

  int Below(int bound) { return static_cast<int>(random_.Below(static_cast<unsigned>(bound))); }
  std::string OneOf(const std::vector<std::string>& words) {
    return words[random_.Below(words.size())];
  }
  std::string Word(std::string_view letters) {
    std::string word;
    for (int i = Below(8); i >= 0; --i) word += letters[random_.Below(letters.size())];
    return word;
  }
  std::string Path() { return "/x" + Word(kLetters); }
  template <typename T>
  std::optional<T> Perhaps(std::uint64_t least, std::uint64_t below) {
    if (Below(2) == 0) return std::nullopt;
    return static_cast<T>(least + random_.Below(below - least));
  }
  std::vector<std::string> Words(const std::string& front, std::string_view letters) {
    std::vector<std::string> words;
    for (int i = Below(4); i > 0; --i) words.push_back(front + Word(letters));
    return words;
  }

  CdiNode Node(int index) {
    CdiNode node;
    node.path = Path() + "/" + std::to_string(index);
    if (Below(2) == 0) node.host_path = Path();
    node.type = "\0bcup"[Below(5)];
    node.major = Perhaps<std::int64_t>(1, 4096);
    if (node.major) node.minor = random_.Below(1 << 20);
    node.file_mode = Perhaps<std::uint32_t>(0, 01000);
    node.permissions = OneOf({"", "none", "r", "mw", "rwm"});
    node.uid = Perhaps<std::uint32_t>(0, 0xffffffff);
    node.gid = Perhaps<std::uint32_t>(0, 0xffffffff);
    return node;
  }

  OciHook Hook() {
    OciHook hook;
    hook.stage = static_cast<HookStage>(Below(6));
    hook.path = Path();
    hook.args = Words("", "a\n\x01\"\\");
    hook.env = Words("N=", "AZ_=b \"\\\t");
    if (const auto timeout = Perhaps<int>(1, 86401)) hook.timeout = seconds(*timeout);
    return hook;
  }

  CdiEdits Edits() {
    CdiEdits edits;
    edits.env = Words("N=", "AZ_=b \"\\\t");
    for (int i = Below(4); i > 0; --i) edits.nodes.push_back(Node(i));
    for (int i = Below(4); i > 0; --i) {
      edits.mounts.push_back({Path(), Path(), OneOf({"", "bind", "tmpfs"}), Words("", "ro=,\"x")});
    }
    for (int i = Below(4); i > 0; --i) edits.hooks.push_back(Hook());
    for (int i = Below(4); i > 0; --i) {
      edits.groups.push_back(static_cast<std::uint32_t>(1 + random_.Below(0xfffffffe)));
    }
    return edits;
  }

  SeededRandom random_;
};

RC_GTEST_PROP(CdiJson, WhatIsWrittenIsReadBackTheSame, (std::uint64_t seed)) {
  const CdiSpec spec = SpecMaker(seed).Make();
  const auto again = ParseCdiSpec(FormatCdiSpec(spec));
  if (!again) RC_FAIL(again.error().reason);
  RC_ASSERT(*again == spec);
}

}  // namespace
}  // namespace tidemill
