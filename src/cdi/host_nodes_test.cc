// SPDX-License-Identifier: Apache-2.0
#include "cdi/host_nodes.h"

#include <gtest/gtest.h>

#include "cdi/cdi_testing.h"

namespace tidemill {
namespace {

Result<CdiNode> Resolved(const CdiNode& node, const std::string& root) {
  CdiEdits edits;
  edits.nodes = {node};
  auto resolved = ResolveNodes(edits, root);
  if (!resolved) return tl::unexpected(resolved.error());
  return resolved->nodes.front();
}

std::string WhyNotResolved(const CdiNode& node, const std::string& root) {
  const auto resolved = Resolved(node, root);
  return resolved ? "" : resolved.error().reason;
}

TEST(ResolveNodes, FillsInWhatTheMachineHas) {
  const FakeTree tree;
  tree.Node("/dev/gpu0", S_IFCHR, 1, 3);
  tree.Node("/dev/disk0", S_IFBLK, 7, 0);
  tree.Node("/dev/pipe", S_IFIFO, 0, 0);
  CdiEdits edits;
  edits.env = {"A=b"};
  edits.nodes = {{.path = "/dev/gpu0", .permissions = "r"},
                 {.path = "/dev/inside", .host_path = "/dev/disk0"},
                 {.path = "/dev/pipe", .uid = 7}};
  const auto resolved = ResolveNodes(edits, tree.root());
  ASSERT_TRUE(resolved) << resolved.error().reason;
  CdiEdits wanted = edits;
  wanted.nodes = {{.path = "/dev/gpu0",
                   .type = 'c',
                   .major = 1,
                   .minor = 3,
                   .file_mode = 0660,
                   .permissions = "r"},
                  {.path = "/dev/inside",
                   .host_path = "/dev/disk0",
                   .type = 'b',
                   .major = 7,
                   .minor = 0,
                   .file_mode = 0660},
                  {.path = "/dev/pipe", .type = 'p', .file_mode = 0660, .uid = 7}};
  EXPECT_EQ(*resolved, wanted);
}

TEST(ResolveNodes, OfThisMachineToo) {
  for (const char* root : {"", "/"}) {
    const auto null = Resolved({.path = "/dev/null"}, root);
    ASSERT_TRUE(null);
    EXPECT_EQ(null->type, 'c');
    EXPECT_EQ(null->major, 1);
    EXPECT_EQ(null->minor, 3);
  }
}

TEST(ResolveNodes, WhatTheSpecSaysStaysIfItIsSo) {
  const FakeTree tree;
  tree.Node("/dev/gpu0", S_IFCHR, 1, 3);
  CdiNode node{.path = "/dev/gpu0", .type = 'c', .major = 1, .minor = 3, .file_mode = 0600};
  node.gid = 44;
  EXPECT_EQ(*Resolved(node, tree.root()), node);
  node.type = 'u';  // unbuffered, and a character device too
  EXPECT_EQ(*Resolved(node, tree.root()), node);
}

TEST(ResolveNodes, AContradictionIsRefused) {
  const FakeTree tree;
  tree.Node("/dev/gpu0", S_IFCHR, 1, 3);
  const std::string is = tree.At("/dev/gpu0 is c 1:3, but the spec says ");
  EXPECT_EQ(WhyNotResolved({.path = "/dev/gpu0", .type = 'b'}, tree.root()), is + "b 1:3");
  EXPECT_EQ(WhyNotResolved({.path = "/dev/gpu0", .major = 1, .minor = 5}, tree.root()),
            is + "c 1:5");
  EXPECT_EQ(WhyNotResolved({.path = "/dev/gpu0", .type = 'c', .major = 5, .minor = 3}, tree.root()),
            is + "c 5:3");
  EXPECT_EQ(WhyNotResolved({.path = "/dev/gpu0", .type = 'p'}, tree.root()), is + "p");
  EXPECT_EQ(Resolved({.path = "/dev/gpu0", .type = 'b'}, tree.root()).error().code, Code::kInvalid);
}

TEST(ResolveNodes, ANodeThatIsNotThereIsMissedUnlessItIsWhole) {
  const FakeTree tree;
  const auto missing = Resolved({.path = "/dev/gpu0", .type = 'c'}, tree.root());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().reason,
            "the device node " + tree.At("/dev/gpu0") + ": No such file or directory");
  const CdiNode whole{.path = "/dev/gpu0", .type = 'c', .major = 1, .minor = 3};
  EXPECT_EQ(*Resolved(whole, tree.root()), whole);
  const CdiNode pipe{.path = "/dev/pipe", .type = 'p'};
  EXPECT_EQ(*Resolved(pipe, tree.root()), pipe);
}

TEST(ResolveNodes, FilesFoldersAndLinksAreNoDevices) {
  const FakeTree tree;
  tree.Write("/dev/file", "");
  tree.Link("/dev/null", "/dev/link");
  EXPECT_EQ(WhyNotResolved({.path = "/dev/file"}, tree.root()),
            tree.At("/dev/file") + " is no device node");
  EXPECT_EQ(WhyNotResolved({.path = "/dev"}, tree.root()), tree.At("/dev") + " is no device node");
  EXPECT_EQ(WhyNotResolved({.path = "/dev/link"}, tree.root()),
            tree.At("/dev/link") + " is a link; the spec must name the device node itself");
}

}  // namespace
}  // namespace tidemill
