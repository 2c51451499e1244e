// SPDX-License-Identifier: Apache-2.0
#include "runtime/hooks.h"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "runtime/root_folder.h"
#include "runtime/scratch_test.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

// A root folder of a hostile image, and what it would like to reach, beside it.
class Hooks : public testing::Test {
 protected:
  Hooks() {
    fs::create_directories(root_);
    scratch_.Write("outside/secret", "secret");
  }
  void ExpectNothingOutside() {
    EXPECT_EQ(scratch_.Names(), (std::vector<std::string>{"outside", "root"}));
    EXPECT_EQ(scratch_.Read("outside/secret"), "secret");
    int files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path() + "/outside")) {
      files += entry.exists() ? 1 : 0;
    }
    EXPECT_EQ(files, 1);
  }
  const ScratchFolder scratch_;
  const std::string root_ = scratch_.path() + "/root";
};

TEST_F(Hooks, FindTheRootFolderOfAContainer) {
  const ScratchFolder bundle;
  bundle.Write("config.json", R"({"root":{"path":"rootfs"}})");
  const std::string state = R"({"bundle":")" + bundle.path() + R"("})";
  EXPECT_EQ(*RootOfState(state), bundle.path() + "/rootfs");
  bundle.Write("config.json", R"({"root":{"path":"/var/x"}})");
  EXPECT_EQ(*RootOfState(state), "/var/x");
  bundle.Write("config.json", R"({"root":{}})");
  EXPECT_EQ(RootOfState(state).error().reason,
            bundle.path() + "/config.json: root.path: is missing");
  EXPECT_EQ(RootOfState("{}").error().reason, "the container's state: bundle: is missing");
  EXPECT_EQ(RootOfState(R"({"bundle":"/no/bundle"})").error().code, Code::kNotFound);
}

TEST_F(Hooks, LinksAreMadeWithTheirFolders) {
  ASSERT_TRUE(CreateSymlinks(root_, {"libx.so.1::/usr/lib/a/libx.so", "/etc/y::/y"}));
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/a/libx.so"), "libx.so.1");
  EXPECT_EQ(fs::read_symlink(root_ + "/y"), "/etc/y");
  // Again, and another target in its place.
  ASSERT_TRUE(CreateSymlinks(root_, {"libx.so.1::/usr/lib/a/libx.so", "/etc/z::/y"}));
  EXPECT_EQ(fs::read_symlink(root_ + "/y"), "/etc/z");
  scratch_.Write("root/file", "x");
  EXPECT_EQ(CreateSymlinks(root_, {"a::/file"}).error().code, Code::kConflict);
  EXPECT_EQ(scratch_.Read("root/file"), "x");
}

TEST_F(Hooks, LinksThatAreNoneAreRefused) {
  for (const char* link :
       {"", "a", "a:/b", "::/b", "a::", "a::b", "a::/", "a::/b/../../c", "a::../c", "a::/b\nc"}) {
    EXPECT_EQ(CreateSymlinks(root_, {link}).error().code, Code::kInvalid) << link;
  }
  ExpectNothingOutside();
}

TEST_F(Hooks, NoLinkLeadsOut) {
  const std::string outside = scratch_.path() + "/outside";
  fs::create_directory_symlink(outside, root_ + "/whole");
  fs::create_directory_symlink("../outside", root_ + "/relative");
  fs::create_directory_symlink("/../../../../.." + outside, root_ + "/up");
  fs::create_directory_symlink("/proc/self/root" + outside, root_ + "/magic");
  fs::create_symlink(outside + "/secret", root_ + "/file");
  const auto root = RootFolder::Open(root_);
  ASSERT_TRUE(root);
  for (const char* folder : {"/whole", "/relative", "/up", "/magic"}) {
    // Inside, there is nothing where they lead; or it is made there.
    (void)root->Write(std::string(folder) + "/new", "x");
    (void)root->Write(std::string(folder) + "/secret", "x");
    (void)root->Link(std::string(folder) + "/link", "x");
    (void)root->MakeFolder(std::string(folder) + "/folder/deep");
  }
  ASSERT_TRUE(root->Write("/file", "inside"));
  EXPECT_EQ(scratch_.Read("root/file"), "inside");
  EXPECT_FALSE(fs::is_symlink(root_ + "/file"));
  ExpectNothingOutside();
}

TEST_F(Hooks, LinksInsideAreFollowedInside) {
  fs::create_directories(root_ + "/usr/lib");
  fs::create_directory_symlink("/usr/lib", root_ + "/lib");
  ASSERT_TRUE(CreateSymlinks(root_, {"x::/lib/a/b"}));
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/a/b"), "x");
}

TEST_F(Hooks, LoaderFindsTheLibraries) {
  if (geteuid() != 0) return;  // chroot is root's
  fs::create_directories(root_ + "/usr/lib/accel");
  const fs::path library = fs::canonical("/lib/x86_64-linux-gnu/libz.so.1");
  fs::copy_file(library, root_ + "/usr/lib/accel/" + library.filename().string());
  const auto updated = UpdateLdCache(root_, {"/usr/lib/accel", "/opt/made"}, "");
  ASSERT_TRUE(updated) << updated.error().reason;
  EXPECT_EQ(scratch_.Read("root/etc/ld.so.conf.d/00-tidemill.conf"), "/usr/lib/accel\n/opt/made\n");
  EXPECT_NE(scratch_.Read("root/etc/ld.so.cache").find("/usr/lib/accel/libz.so.1"),
            std::string::npos);
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/accel/libz.so.1"), library.filename());
  ExpectNothingOutside();
}

TEST_F(Hooks, LoadersCacheOfAHostileImageStaysInside) {
  if (geteuid() != 0) return;
  fs::create_directory_symlink(scratch_.path() + "/outside", root_ + "/etc");
  (void)UpdateLdCache(root_, {"/usr/lib/accel"}, "");
  ExpectNothingOutside();
  EXPECT_FALSE(UpdateLdCache(root_, {"usr/lib"}, ""));
  EXPECT_FALSE(UpdateLdCache(root_, {"/a\nb"}, ""));
  EXPECT_EQ(UpdateLdCache(root_ + "/no", {"/a"}, "").error().code, Code::kNotFound);
  EXPECT_EQ(UpdateLdCache(scratch_.path() + "/outside", {"/a"}, "/no/ldconfig").error().reason,
            "/no/ldconfig: No such file or directory");
}

}  // namespace
}  // namespace tidemill
