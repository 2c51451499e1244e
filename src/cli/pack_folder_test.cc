// SPDX-License-Identifier: Apache-2.0
#include "cli/pack_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/zstd_stream.h"
#include "unpack/unpack.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

class PackFolderTest : public ::testing::Test {
 protected:
  PackFolderTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-pack-XXXXXX").string();
    base_ = mkdtemp(name.data());
    fs::create_directory(base_ / "code");
  }
  ~PackFolderTest() override {
    RemoveUnpacked((base_ / "out").string());
    fs::remove_all(base_);
  }

  void Write(const std::string& name, const std::string& text) {
    const fs::path path = base_ / "code" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  Result<PackedFolder> Pack(const PackLimits& limits = {}) const {
    return PackFolder((base_ / "code").string(), limits);
  }
  // The names of what comes out again.
  std::set<std::string> Unpacked(const std::string& packed) {
    RemoveUnpacked((base_ / "out").string());
    fs::create_directory(base_ / "out");
    const auto read = [&packed, at = std::size_t{0}](
                          char* to, std::size_t size) mutable -> Result<std::size_t> {
      const std::size_t some = std::min(size, packed.size() - at);
      std::memcpy(to, packed.data() + at, some);
      at += some;
      return some;
    };
    const auto bytes = UnpackTarZstd(read, (base_ / "out").string());
    EXPECT_TRUE(bytes) << bytes.error().reason;
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(base_ / "out")) {
      names.insert(entry.path().lexically_relative(base_ / "out").string());
    }
    return names;
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(base_ / "out" / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path base_;
};

TEST_F(PackFolderTest, PacksWhatIsCode) {
  Write("main.py", "print()");
  Write("lib/" + std::string(120, 'n') + ".py", std::string(100'000, 'x'));
  Write(".git/HEAD", "x");
  Write("lib/__pycache__/a.pyc", "x");
  Write("env/pyvenv.cfg", "");
  Write("env/bin/python", "x");
  Write("data.csv", "x");
  Write(".tidemillignore", "*.csv\n");
  fs::create_directory(base_ / "code/empty");
  fs::create_symlink("../main.py", base_ / "code/lib/link.py");
  mkfifo((base_ / "code/pipe").c_str(), 0600);
  chmod((base_ / "code/main.py").c_str(), 0755);
  const auto packed = Pack();
  ASSERT_TRUE(packed) << packed.error().reason;
  EXPECT_EQ(packed->files, 2);
  EXPECT_EQ(packed->file_bytes, 100'007);
  EXPECT_EQ(packed->left_out,
            (std::vector<std::string>{".git", "data.csv", "env", "lib/__pycache__", "pipe"}));
  EXPECT_EQ(Unpacked(packed->bytes),
            (std::set<std::string>{"main.py", "lib", "lib/" + std::string(120, 'n') + ".py",
                                   "lib/link.py", "empty"}));
  EXPECT_EQ(Text("main.py"), "print()");
  EXPECT_EQ(Text("lib/link.py"), "print()");
  struct stat status{};
  stat((base_ / "out/main.py").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0555u);
}

TEST_F(PackFolderTest, MakesTheSameOfTheSameFiles) {
  Write("b", "1");
  Write("a", "2");
  const auto first = Pack();
  fs::last_write_time(base_ / "code/a", fs::file_time_type::clock::now() - std::chrono::hours(9));
  chmod((base_ / "code/b").c_str(), 0600);
  EXPECT_EQ(Pack()->bytes, first->bytes);
  Write("a", "3");
  EXPECT_NE(Pack()->bytes, first->bytes);
}

TEST_F(PackFolderTest, RefusesWhatIsTooLargeAndNamesTheLargest) {
  Write("small", "x");
  std::string noise;
  for (std::uint32_t i = 1; noise.size() < 300'000; i = i * 1664525 + 1013904223) {
    noise += static_cast<char>(i >> 24);
  }
  Write("large.bin", noise);
  const auto packed = Pack({.packed_bytes = 100'000});
  ASSERT_FALSE(packed);
  EXPECT_NE(packed.error().reason.find("large.bin"), std::string::npos) << packed.error().reason;
  EXPECT_FALSE(Pack({.bytes = 1000}));
  EXPECT_FALSE(Pack({.entries = 1}));
  EXPECT_TRUE(Pack());
}

TEST_F(PackFolderTest, SaysWhatCannotBePacked) {
  EXPECT_FALSE(PackFolder((base_ / "none").string()));
  fs::create_symlink("/etc/passwd", base_ / "code/out");
  EXPECT_NE(Pack().error().reason.find("which is not in the folder"), std::string::npos);
  Write(".tidemillignore", "out\n[\n");
  EXPECT_NE(Pack().error().reason.find(".tidemillignore:2: "), std::string::npos);
  Write(".tidemillignore", "out\n");
  EXPECT_TRUE(Pack());
}

}  // namespace
}  // namespace tidemill::cli
