// SPDX-License-Identifier: Apache-2.0
#include "unpack/folders.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/virtual_loop.h"
#include "submit/tar_writer.h"
#include "unpack/unpack.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

class FoldersTest : public ::testing::Test {
 protected:
  FoldersTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-folders-XXXXXX").string();
    root_ = mkdtemp(name.data());
    Restart();
  }
  ~FoldersTest() override {
    folders_.reset();
    RemoveUnpacked(root_.string());
  }

  void Restart(std::size_t kept = 32) {
    folders_.reset();
    folders_ = std::make_unique<UnpackedFolders>(
        worker_, UnpackedFolders::Options{.root = root_.string(), .kept = kept});
  }
  static std::string Packed(const std::string& text) {
    const auto size = static_cast<std::int64_t>(text.size());
    return Compress(TarHeader({.name = "file", .size_bytes = size}) + text + TarPadding(size) +
                    TarEnd());
  }
  static std::string NameOf(const std::string& packed) { return Hex(Sha256(packed)); }
  UnpackedFolders::Fetch FetchOf(const std::string& packed) {
    return [this, packed](const std::function<void(Result<std::string>)>& done) {
      ++fetches_;
      loop_.After(std::chrono::milliseconds(5), [done, packed] { done(packed); });
    };
  }
  void Play() {
    while (loop_.Step()) {
    }
  }
  Result<UnpackedFolders::Folder> Get(const std::string& packed, const std::string& name) {
    std::optional<Result<UnpackedFolders::Folder>> got;
    folders_->Get(name, FetchOf(packed), [&](Result<UnpackedFolders::Folder> folder) {
      EXPECT_FALSE(got);
      got = std::move(folder);
    });
    EXPECT_FALSE(got) << "called from inside";
    Play();
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }
  static std::string TextIn(const std::string& folder) {
    std::ifstream file(fs::path(folder) / "file");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  SeededRandom random_{3};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  fs::path root_;
  std::unique_ptr<UnpackedFolders> folders_;
  int fetches_ = 0;
};

TEST_F(FoldersTest, UnpacksOnceHoweverManyAsk) {
  const std::string packed = Packed("hello");
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    folders_->Get(NameOf(packed), FetchOf(packed), [&](const Result<UnpackedFolders::Folder>& got) {
      ASSERT_TRUE(got) << got.error().reason;
      EXPECT_EQ(TextIn(**got), "hello");
      ++answers;
    });
  }
  Play();
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(TextIn(**Get(packed, NameOf(packed))), "hello");
  Restart();
  EXPECT_EQ(TextIn(**Get(packed, NameOf(packed))), "hello");
  EXPECT_EQ(fetches_, 1);
}

TEST_F(FoldersTest, TakesNothingThatIsNotWhatItsNameSays) {
  const std::string packed = Packed("hello");
  EXPECT_EQ(Get(packed, NameOf("other")).error().code, Code::kInvalid);
  EXPECT_EQ(Get(packed, "../" + NameOf(packed)).error().code, Code::kInvalid);
  EXPECT_EQ(Get("no archive", NameOf("no archive")).error().code, Code::kInvalid);
  EXPECT_EQ(Names(), std::set<std::string>{});
  // What failed may be asked for again.
  EXPECT_TRUE(Get(packed, NameOf(packed)));
}

TEST_F(FoldersTest, RemovesWhatACrashHasLeft) {
  const std::string packed = Packed("hello");
  fs::create_directories(root_ / (NameOf(packed) + ".part") / "a");
  fs::create_directories(root_ / "gone-7");
  Restart();
  EXPECT_EQ(Names(), std::set<std::string>{});
}

TEST_F(FoldersTest, RemovesWhatNobodyHasUsedForLongestAndNothingInUse) {
  Restart(2);
  std::vector<std::string> all;
  for (const char* const text : {"1", "2", "3", "4"}) all.push_back(Packed(text));
  const auto first = Get(all[0], NameOf(all[0]));  // held
  ASSERT_TRUE(Get(all[1], NameOf(all[1])));
  ASSERT_TRUE(Get(all[2], NameOf(all[2])));
  EXPECT_EQ(Names(), (std::set<std::string>{NameOf(all[0]), NameOf(all[2])}));
  const auto third = Get(all[2], NameOf(all[2]));
  const auto fourth = Get(all[3], NameOf(all[3]));
  EXPECT_EQ(Names().size(), 3u) << "all are in use";
  EXPECT_EQ(TextIn(**first), "1");
  EXPECT_EQ(TextIn(**third), "3");
}

}  // namespace
}  // namespace tidemill
