// SPDX-License-Identifier: Apache-2.0
#include "cdi/registry.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

// Its own edits and each device's are told apart by a variable.
CdiSpec MarkedSpec(const std::string& kind, const Texts& devices, const std::string& mark = "") {
  CdiSpec spec{.version = "0.6.0", .kind = kind};
  spec.edits.env = {"SPEC" + mark + "=" + kind};
  for (const std::string& name : devices) {
    spec.devices.push_back({.name = name, .edits = {.env = {"DEVICE" + mark + "=" + name}}});
  }
  return spec;
}

Texts EnvOf(const CdiRegistry& registry, const Texts& names) {
  const auto edits = registry.EditsOf(names);
  return edits ? edits->env : Texts{edits.error().reason};
}

TEST(CdiRegistry, KnowsTheDevicesOfAllFiles) {
  const CdiRegistry registry({{"/e/b.json", 0, MarkedSpec("v.com/b", {"1", "0"})},
                              {"/e/a.json", 0, MarkedSpec("v.com/a", {"x"})}});
  EXPECT_EQ(registry.Names(),
            (std::vector<CdiName>{{"v.com/a", "x"}, {"v.com/b", "0"}, {"v.com/b", "1"}}));
  EXPECT_TRUE(registry.Troubles().empty());
  ASSERT_NE(registry.Find({"v.com/b", "1"}), nullptr);
  EXPECT_EQ(registry.Find({"v.com/b", "1"})->name, "1");
  EXPECT_EQ(registry.SpecOf({"v.com/b", "1"})->kind, "v.com/b");
  EXPECT_EQ(registry.Find({"v.com/b", "2"}), nullptr);
  EXPECT_EQ(registry.SpecOf({"v.com/c", "1"}), nullptr);
  EXPECT_TRUE(CdiRegistry().Names().empty());
}

TEST(CdiRegistry, ASpecsOwnEditsComeOnceBeforeItsFirstDevice) {
  const CdiRegistry registry({{"/e/a.json", 0, MarkedSpec("v.com/a", {"0", "1"})},
                              {"/e/b.json", 0, MarkedSpec("v.com/b", {"0"})}});
  EXPECT_EQ(EnvOf(registry, {"v.com/a=1", "v.com/b=0", "v.com/a=0", "v.com/a=1"}),
            (Texts{"SPEC=v.com/a", "DEVICE=1", "SPEC=v.com/b", "DEVICE=0", "DEVICE=0"}));
  EXPECT_EQ(EnvOf(registry, {}), Texts{});
}

TEST(CdiRegistry, AllKindsOfEditsAreJoined) {
  CdiSpec spec = MarkedSpec("v.com/a", {"0"});
  const CdiEdits whole{.env = {"A=b"},
                       .nodes = {{.path = "/dev/a"}},
                       .mounts = {{"/a", "/b"}},
                       .hooks = {{HookStage::kPoststop, "/c"}},
                       .groups = {1}};
  const CdiEdits own{.env = {"C=d"},
                     .nodes = {{.path = "/dev/b"}},
                     .mounts = {{"/c", "/d"}},
                     .hooks = {{HookStage::kPrestart, "/e"}},
                     .groups = {2}};
  spec.edits = whole;
  spec.devices[0].edits = own;
  const auto edits = CdiRegistry({{"/e/a.json", 0, spec}}).EditsOf({"v.com/a=0"});
  ASSERT_TRUE(edits);
  EXPECT_EQ(edits->env, (Texts{"A=b", "C=d"}));
  EXPECT_EQ(edits->nodes, (std::vector<CdiNode>{whole.nodes[0], own.nodes[0]}));
  EXPECT_EQ(edits->mounts, (std::vector<CdiMount>{whole.mounts[0], own.mounts[0]}));
  EXPECT_EQ(edits->hooks, (std::vector<OciHook>{whole.hooks[0], own.hooks[0]}));
  EXPECT_EQ(edits->groups, (std::vector<std::uint32_t>{1, 2}));
}

TEST(CdiRegistry, ALaterFolderGoesBeforeAnEarlierOne) {
  // Whatever the order of the files.
  const CdiFile low{"/etc/a.json", 0, MarkedSpec("v.com/a", {"0", "1"}, "LOW")};
  const CdiFile high{"/run/a.json", 1, MarkedSpec("v.com/a", {"1"}, "HIGH")};
  for (const auto& files : {std::vector{low, high}, std::vector{high, low}}) {
    const CdiRegistry registry(files);
    EXPECT_TRUE(registry.Troubles().empty());
    EXPECT_EQ(EnvOf(registry, {"v.com/a=1"}), (Texts{"SPECHIGH=v.com/a", "DEVICEHIGH=1"}));
    EXPECT_EQ(EnvOf(registry, {"v.com/a=0"}), (Texts{"SPECLOW=v.com/a", "DEVICELOW=0"}));
  }
}

TEST(CdiRegistry, ADeviceThatTwoFilesOfAFolderHaveIsNotThere) {
  const CdiFile one{"/etc/a.json", 0, MarkedSpec("v.com/a", {"0", "1"})};
  const CdiFile two{"/etc/b.json", 0, MarkedSpec("v.com/a", {"1", "2"})};
  const CdiRegistry registry({one, two});
  EXPECT_EQ(registry.Names(), (std::vector<CdiName>{{"v.com/a", "0"}, {"v.com/a", "2"}}));
  EXPECT_EQ(registry.Troubles(), (Texts{"/etc/a.json and /etc/b.json both have v.com/a=1"}));
  EXPECT_EQ(EnvOf(registry, {"v.com/a=1"}),
            (Texts{"no spec has the device v.com/a=1; /etc/a.json and /etc/b.json both have "
                   "v.com/a=1"}));
  // What stands above settles it.
  const CdiRegistry settled({one, {"/run/c.json", 1, MarkedSpec("v.com/a", {"1"}, "HIGH")}, two});
  EXPECT_TRUE(settled.Troubles().empty());
  EXPECT_EQ(EnvOf(settled, {"v.com/a=1"}), (Texts{"SPECHIGH=v.com/a", "DEVICEHIGH=1"}));
}

TEST(CdiRegistry, AFileThatCannotBeUsedIsNamed) {
  const CdiRegistry registry(
      {{"/etc/a.json", 0, Fail(Code::kInvalid, "line 7: devices[0].name: is missing")},
       {"/etc/b.json", 0, MarkedSpec("v.com/a", {"0"})}});
  EXPECT_EQ(registry.Troubles(), (Texts{"/etc/a.json: line 7: devices[0].name: is missing"}));
  EXPECT_EQ(EnvOf(registry, {"v.com/a=0"}), (Texts{"SPEC=v.com/a", "DEVICE=0"}));
  const auto none = registry.EditsOf({"v.com/a=0", "v.com/a=9"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_EQ(none.error().reason,
            "no spec has the device v.com/a=9; /etc/a.json: line 7: devices[0].name: is missing");
}

TEST(CdiRegistry, ANameMustBeWhole) {
  const auto edits = CdiRegistry().EditsOf({"gpu0"});
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().code, Code::kInvalid);
  EXPECT_EQ(edits.error().reason, "'gpu0' is no device; write vendor.com/class=name");
}

}  // namespace
}  // namespace tidemill
