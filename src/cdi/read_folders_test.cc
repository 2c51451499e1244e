// SPDX-License-Identifier: Apache-2.0
#include "cdi/read_folders.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "cdi/cdi_testing.h"
#include "cdi/cdi_text.h"

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

std::string SpecText(const std::string& name) {
  return "cdiVersion: 0.6.0\nkind: v.com/a\ndevices:\n- name: " + name +
         "\n  containerEdits: {env: [A=b]}\n";
}

Texts RegistryNames(const CdiRegistry& registry) {
  Texts names;
  for (const CdiName& name : registry.Names()) names.push_back(name.device);
  return names;
}

TEST(ReadCdiFolders, TakesTheSpecsOfEachFolder) {
  const FakeTree tree;
  tree.Write("/etc/cdi/b.yaml", SpecText("b"));
  tree.Write("/etc/cdi/a.json",
             R"({"cdiVersion": "0.6.0", "kind": "v.com/a",)"
             R"("devices": [{"name": "a", "containerEdits": {"env": ["A=b"]}}]})");
  // What looks like JSON need not be: other readers take it for YAML too.
  tree.Write("/etc/cdi/c.json", SpecText("c"));
  tree.Write("/etc/cdi/notes.txt", "no spec");
  tree.Write("/etc/cdi/.new.json.tmp", "not yet a spec");
  tree.Write("/etc/cdi/d.yml", "not one of the endings");
  tree.Write("/run/cdi/d.yaml", SpecText("d"));
  const auto registry = ReadCdiFolders({tree.At("/etc/cdi"), tree.At("/run/cdi")});
  EXPECT_EQ(RegistryNames(registry), (Texts{"a", "b", "c", "d"}));
  EXPECT_EQ(registry.Troubles(), Texts{});
}

TEST(ReadCdiFolders, AFolderThatIsNotThereHasNone) {
  const FakeTree tree;
  const auto registry = ReadCdiFolders({tree.At("/no/such"), tree.At("/nor/this")});
  EXPECT_TRUE(registry.Names().empty());
  EXPECT_TRUE(registry.Troubles().empty());
}

TEST(ReadCdiFolders, ALaterFolderGoesBefore) {
  const FakeTree tree;
  tree.Write("/etc/cdi/a.yaml", SpecText("a"));
  std::string other = SpecText("a");
  other.replace(other.find("A=b"), 3, "B=c");
  tree.Write("/run/cdi/a.yaml", other);
  const auto edits =
      ReadCdiFolders({tree.At("/etc/cdi"), tree.At("/run/cdi")}).EditsOf({"v.com/a=a"});
  ASSERT_TRUE(edits);
  EXPECT_EQ(edits->env, Texts{"B=c"});
}

TEST(ReadCdiFolders, WhatIsBrokenIsNamedAndTheRestIsTaken) {
  const FakeTree tree;
  tree.Write("/cdi/a.yaml", SpecText("a"));
  tree.Write("/cdi/b.yaml", "cdiVersion: 0.6.0\nkind: gpu\n");
  tree.Write("/cdi/c.json", "{\n\"cdiVersion\": \"0.6.0\",\n\"kindd\": 1}\n");
  tree.Write("/cdi/d.yaml", "");
  const auto registry = ReadCdiFolders({tree.At("/cdi")});
  EXPECT_EQ(RegistryNames(registry), Texts{"a"});
  EXPECT_EQ(registry.Troubles(),
            (Texts{tree.At("/cdi/b.yaml: line 2: kind: must be VENDOR/CLASS, as vendor.com/gpu: "
                           "each of letters, digits and '_-.', beginning with a letter and ending "
                           "with a letter or digit"),
                   tree.At("/cdi/c.json: line 3: unknown field 'kindd'; did you mean 'kind'?"),
                   tree.At("/cdi/d.yaml: line 1: there is nothing in it")}));
}

TEST(ReadCdiFolders, OnlyPlainFilesAreRead) {
  const FakeTree tree;
  tree.Write("/cdi/a.yaml", SpecText("a"));
  ASSERT_EQ(mkfifo(tree.At("/cdi/fifo.json").c_str(), 0600), 0);
  tree.Node("/cdi/zero.yaml", S_IFCHR, 1, 5);
  tree.Write("/cdi/folder.json/x.json", "");
  tree.Link(tree.At("/cdi/zero.yaml"), "/cdi/zero2.yaml");
  tree.Link("/no/such/file", "/cdi/nowhere.json");
  const auto registry = ReadCdiFolders({tree.At("/cdi")});
  EXPECT_EQ(RegistryNames(registry), Texts{"a"});
  EXPECT_EQ(registry.Troubles(),
            (Texts{tree.At("/cdi/fifo.json: is not a plain file"),
                   tree.At("/cdi/folder.json: is not a plain file"),
                   tree.At("/cdi/nowhere.json: cannot be read: No such file or directory"),
                   tree.At("/cdi/zero.yaml: is not a plain file"),
                   tree.At("/cdi/zero2.yaml: is not a plain file")}));
}

TEST(ReadCdiFolders, LinksToFilesAreFollowed) {
  const FakeTree tree;
  tree.Write("/opt/vendor/spec", SpecText("a"));
  tree.Link("../opt/vendor/spec", "/cdi/vendor.yaml");
  const auto registry = ReadCdiFolders({tree.At("/cdi")});
  EXPECT_EQ(RegistryNames(registry), Texts{"a"});
  EXPECT_EQ(registry.Troubles(), Texts{});
}

TEST(ReadCdiFolders, AFileMayBeOneMebibyte) {
  const FakeTree tree;
  std::string text = SpecText("a");
  text += "#" + std::string(kCdiTextBytes - text.size() - 1, 'x');
  tree.Write("/cdi/a.yaml", text);
  tree.Write("/cdi/b.yaml", text + "x");
  const auto registry = ReadCdiFolders({tree.At("/cdi")});
  EXPECT_EQ(RegistryNames(registry), Texts{"a"});
  EXPECT_EQ(registry.Troubles(), (Texts{tree.At("/cdi/b.yaml: more than 1048576 bytes")}));
}

TEST(ReadCdiFolders, AFolderThatIsNoneOrIsTooFullIsATrouble) {
  const FakeTree tree;
  tree.Write("/file", "");
  for (int i = 0; i <= 1000; ++i) tree.Write("/full/" + std::to_string(i) + ".json", "");
  const auto registry = ReadCdiFolders({tree.At("/file"), tree.At("/full")});
  EXPECT_EQ(registry.Troubles(), (Texts{tree.At("/file: cannot be read: Not a directory"),
                                        tree.At("/full: more than 1000 specs")}));
}

}  // namespace
}  // namespace tidemill
