// SPDX-License-Identifier: Apache-2.0
// Tricks with paths, against the one place where the agent, which may be root, walks through what a
// container has made: the removal of its folder. None may touch anything outside.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/remove_tree.h"
#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;
using std::string;

// A folder of the machine with a file in it, which nothing may change.
class Canary {
 public:
  explicit Canary(const string& path) : path_(path) {
    fs::create_directory(path);
    std::ofstream(path + "/file") << "unharmed";
    chmod(path.c_str(), 0751);
    chmod((path + "/file").c_str(), 0640);
    before_ = State();
  }
  ~Canary() { fs::remove_all(path_); }

  const string& path() const { return path_; }
  string file() const { return path_ + "/file"; }
  void ExpectUnharmed() const { EXPECT_EQ(State(), before_); }

 private:
  string State() const {
    std::ifstream in(file());
    string text;
    std::getline(in, text, '\0');
    for (const string& each : {path_, file()}) {
      struct stat status{};
      if (stat(each.c_str(), &status) != 0) return "gone";
      text += " " + std::to_string(status.st_mode) + " " + std::to_string(status.st_uid);
    }
    return text;
  }

  const string path_;
  string before_;
};

struct Trick {
  const char* name;
  std::function<void()> play;
};

class PathTest : public testing::Test {
 protected:
  PathTest() : base_(MakeBase()), canary_(base_ + "/canary"), top_(base_ + "/top") {
    fs::create_directory(top_);
  }
  ~PathTest() override { fs::remove_all(base_); }
  static string MakeBase() {
    char name[] = "/tmp/tidemill-path-XXXXXX";
    return mkdtemp(name);
  }
  string In(const string& name) const { return top_ + "/" + name; }
  static void Touch(const string& path) { std::ofstream(path) << "x"; }
  static void Link(const string& target, const string& at) {
    ASSERT_EQ(symlink(target.c_str(), at.c_str()), 0) << at;
  }

  std::vector<Trick> Links();
  std::vector<Trick> Others();

  const string base_;
  Canary canary_;
  const string top_;
};

std::vector<Trick> PathTest::Links() {
  return {
      {"a link to a file", [&] { Link(canary_.file(), In("a")); }},
      {"a link to a folder", [&] { Link(canary_.path(), In("a")); }},
      {"a link to a folder, with a slash", [&] { Link(canary_.path() + "/", In("a")); }},
      {"a relative link out", [&] { Link("../canary", In("a")); }},
      {"a link to the folder above", [&] { Link("..", In("a")); }},
      {"a link to the root", [&] { Link("/", In("a")); }},
      {"a link to itself", [&] { Link("a", In("a")); }},
      {"a circle of links", [&] { Link("b", In("a")), Link("a", In("b")); }},
      {"a chain of links", [&] { Link("b", In("a")), Link(canary_.path(), In("b")); }},
      {"a link to nowhere", [&] { Link("/nonexistent", In("a")); }},
      {"a magic link", [&] { Link("/proc/self/root" + canary_.path(), In("a")); }},
      {"a link to our descriptors", [&] { Link("/proc/self/fd", In("a")); }},
      {"a link deep inside",
       [&] {
         fs::create_directories(In("a/b/c"));
         Link(canary_.path(), In("a/b/c/d"));
       }},
      {"a hard link to a file", [&] { fs::create_hard_link(canary_.file(), In("a")); }},
  };
}

std::vector<Trick> PathTest::Others() {
  return {
      {"a pipe", [&] { mkfifo(In("a").c_str(), 0600); }},
      {"a socket", [&] { ASSERT_EQ(mknod(In("a").c_str(), S_IFSOCK | 0666, 0), 0); }},
      {"a device that never ends", [&] { mknod(In("a").c_str(), S_IFCHR | 0666, makedev(1, 5)); }},
      {"a disk", [&] { mknod(In("a").c_str(), S_IFBLK | 0666, makedev(8, 0)); }},
      {"a file of a tebibyte",
       [&] {
         Touch(In("a"));
         truncate(In("a").c_str(), std::int64_t{1} << 40);
       }},
      {"a folder that is shut",
       [&] {
         fs::create_directories(In("a/b"));
         Touch(In("a/b/c"));
         chmod(In("a/b").c_str(), 0);
         chmod(In("a").c_str(), 0);
       }},
      {"a folder of another user with the sticky bit",
       [&] {
         fs::create_directories(In("a/b"));
         chmod(In("a").c_str(), 01777);
         EXPECT_EQ(chown(In("a/b").c_str(), 1234, 1234), 0);
       }},
      {"a name with a line break", [&] { Touch(In("a\nb\r\t")); }},
      {"a name of 255 bytes", [&] { fs::create_directories(In(string(255, 'n') + "/x")); }},
      {"a name that is no text", [&] { Touch(In("\xff\xfe\x01")); }},
      {"names that a shell would read",
       [&] { Touch(In("-rf")), Touch(In("$(id)")), Touch(In("*")); }},
      {"names that look like the folder above",
       [&] { fs::create_directories(In("... /.. /x")), fs::create_directories(In("..a/.b")); }},
      {"names of the kind that folders are moved to",
       [&] {
         for (int i = 0; i < 100; ++i) {
           fs::create_directories(In("d/.lifted-" + std::to_string(i) + "/x"));
           Link(canary_.path(), In(".lifted-" + std::to_string(i)));
         }
       }},
      {"a path longer than paths may be",
       [&] {
         int at = open(top_.c_str(), O_RDONLY | O_DIRECTORY);
         for (int i = 0; i < 100; ++i) {
           const string name(250, 'd');
           mkdirat(at, name.c_str(), 0755);
           symlinkat(canary_.path().c_str(), at, "link");
           const int below = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY);
           close(at);
           at = below;
         }
         close(at);
       }},
      {"very many files",
       [&] {
         for (int i = 0; i < 5000; ++i) Touch(In(std::to_string(i)));
       }},
  };
}

TEST_F(PathTest, NoTrickLeadsOutAndAllAreRemoved) {
  std::vector<Trick> tricks = Links();
  for (Trick& trick : Others()) tricks.push_back(std::move(trick));
  EXPECT_GE(tricks.size(), 25u);
  for (const Trick& trick : tricks) {
    SCOPED_TRACE(trick.name);
    fs::create_directory(top_);
    trick.play();
    EXPECT_TRUE(RemoveTree(top_));
    EXPECT_FALSE(fs::exists(fs::symlink_status(top_)));
    canary_.ExpectUnharmed();
  }
}

TEST_F(PathTest, WhatIsNoFolderIsNotFollowed) {
  fs::remove(top_);
  Link(canary_.path(), top_);
  EXPECT_FALSE(RemoveTree(top_));
  canary_.ExpectUnharmed();
  fs::remove(top_);
  Touch(top_);
  EXPECT_FALSE(RemoveTree(top_));
}

TEST_F(PathTest, WhatIsMountedInATreeIsNotEntered) {
  for (const char* name : {"mount", "a/b/mount"}) {
    SCOPED_TRACE(name);
    fs::create_directories(In(name));
    ASSERT_EQ(mount(canary_.path().c_str(), In(name).c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_FALSE(RemoveTree(top_));
    canary_.ExpectUnharmed();
    // It may have been moved together with the folder that it is in.
    std::ifstream mounts("/proc/self/mounts");
    for (string device, at, rest; mounts >> device >> at && std::getline(mounts, rest);) {
      if (!at.starts_with(top_)) continue;
      EXPECT_EQ(umount2(at.c_str(), MNT_DETACH), 0);
    }
    EXPECT_TRUE(RemoveTree(top_));
    canary_.ExpectUnharmed();
    fs::create_directory(top_);
  }
}

// While the tree is removed, somebody puts links in the place of folders, as fast as they can.
TEST_F(PathTest, SwappingFoldersForLinksMeanwhileLeadsNowhere) {
  std::atomic<bool> stop = false;
  const auto swap = [&](const string& name) {
    const string link = name + "-link";
    renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  };
  std::thread swapper([&] {
    while (!stop) swap(In("a")), swap(In("b/a"));
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end) {
    for (const string& name : {In("a"), In("b"), In("b/a")}) {
      mkdir(name.c_str(), 0755);
      mkdir((name + "/inner").c_str(), 0755);
      symlink(canary_.path().c_str(), (name + "-link").c_str());
    }
    RemoveTree(top_);
    mkdir(top_.c_str(), 0755);
  }
  stop = true;
  swapper.join();
  canary_.ExpectUnharmed();
  EXPECT_TRUE(RemoveTree(top_));
}

class InnerPathTest : public DockerTest {
 protected:
  InnerPathTest() : canary_(folder_ + "/canary") {}
  Canary canary_;
};

INSTANTIATE_TEST_SUITE_P(Docker, InnerPathTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, InnerPathTest, testing::Values(kMakeRemappedDocker));

// From inside, and still at it when the container is ended.
TEST_P(InnerPathTest, AContainersFolderIsRemovedWhateverItHolds) {
  const string canary = canary_.path();
  const string script = "cd $TIDEMILL_SCRATCH; b=/bin/busybox; $b ln -s " + canary +
                        " link; $b ln -s " + canary + "/file file; $b ln -s ../../../../../.." +
                        canary + " up; $b mkfifo pipe; mkdir -p a/b/c; $b ln -s " + canary +
                        " a/b/c/d; $b ln -s ../run run; echo x > x; $b chmod 000 a/b a; "
                        "$b chmod 000 .; echo ready; while :; do mkdir s; $b rmdir s; $b ln -s " +
                        canary + " s; $b rm s; done";
  for (const string kind : {"alpine-like", "user"}) {
    OpenImage(kind);
    container_->Run(Shell(++last_, script));
    holder().RunUntil([&] { return LogOf(last_).find("ready\n") != string::npos; });
    container_.reset();
    RunUntilNothingIsLeft();
    EXPECT_EQ(FoldersLeft(), 0u);
    canary_.ExpectUnharmed();
  }
}

}  // namespace
}  // namespace tidemill
