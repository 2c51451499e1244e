// SPDX-License-Identifier: Apache-2.0
// Checkpoints between a folder that an item writes to and a store that is a folder.
#include "data/mover/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "objects/open.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

class CheckpointsTest : public testing::Test {
 protected:
  CheckpointsTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-saves-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    Restart();
    loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }
  ~CheckpointsTest() override { fs::remove_all(folder_); }

  void Restart() {
    checkpoints_.emplace(Root(), [this](std::string_view url) -> Result<FoundObject> {
      if (on_find_) on_find_(url);
      TIDEMILL_TRY(ObjectStores::Place place, stores_.Find(url));
      return FoundObject{place.store, place.key};
    });
  }
  std::string Root() const { return (folder_ / "data").string(); }

  CheckpointWork Work(std::int32_t attempt = 1, const std::string& writer = "a",
                      std::int32_t round = 0) const {
    return {"file://" + (folder_ / "store").string() + "/", round, attempt, writer};
  }
  Result<void> Await(const std::function<void(std::function<void(Result<void>)>)>& start) {
    std::optional<Result<void>> got;
    bool runs = false;
    start([&](Result<void> result) {
      got = std::move(result);
      if (runs) loop_.Stop();
    });
    runs = true;
    if (!got) loop_.Run();
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }
  // An attempt of its own number begins.
  Result<void> Begin(std::uint64_t number, const CheckpointWork& work) {
    const DataPlace place{{1}, number};
    EXPECT_TRUE(DataPlaces(Root()).Make(place, {}));
    return Await([&](auto done) { checkpoints_->Restore(place, work, done); });
  }
  Result<void> Save(std::uint64_t number, const CheckpointWork& work) {
    return Await([&](auto done) { checkpoints_->Save({{1}, number}, work, done); });
  }
  // Deletions follow behind what they are for.
  void Settle() {
    for (int i = 0; i < 20; ++i) {
      loop_.After(std::chrono::milliseconds(10), [this] { loop_.Stop(); });
      loop_.Run();
    }
  }
  fs::path At(std::uint64_t number, const std::string& name = "") const {
    return fs::path(Root()) / "1/checkpoint" / std::to_string(number) / name;
  }
  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    // As if it were written a while ago.
    const timespec times[] = {{1'000'000'000, 0}, {1'000'000'000 + ++second_, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> Stored(const std::string& what = "") const {
    std::vector<std::string> names;
    const fs::path top = folder_ / "store" / what;
    if (!fs::exists(top)) return names;
    for (const auto& each : fs::recursive_directory_iterator(top)) {
      if (each.is_regular_file()) names.push_back(fs::relative(each.path(), top).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
  AsioLoop loop_;
  SystemRandom random_;
  CloudWorld world_ = SystemWorld();
  ThreadPool disk_{loop_, 2};
  ObjectStores stores_{{loop_, disk_, random_, world_}};
  std::optional<Checkpoints> checkpoints_;
  std::function<void(std::string_view)> on_find_;
  int second_ = 0;
};

TEST_F(CheckpointsTest, TheNextAttemptBeginsWhereTheLastWasSaved) {
  ASSERT_TRUE(Begin(1, Work()));
  EXPECT_TRUE(fs::is_empty(At(1)));
  Write(At(1, "step"), "41");
  Write(At(1, "deep/er/model"), "weights");
  ASSERT_TRUE(Save(1, Work()));
  Write(At(1, "step"), "42");
  ASSERT_TRUE(Save(1, Work()));
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  EXPECT_EQ(Read(At(2, "step")), "42");
  EXPECT_EQ(Read(At(2, "deep/er/model")), "weights");
  struct stat status{};
  ASSERT_EQ(stat(At(2, "deep/er").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0777U) << "the item may be any user";
  ASSERT_EQ(stat(At(2, "step").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666U);
}

TEST_F(CheckpointsTest, OnlyWhatChangedIsStoredAndWhatWasBeforeIsDeleted) {
  ASSERT_TRUE(Begin(1, Work()));
  Write(At(1, "large"), std::string(1000, 'x'));
  Write(At(1, "small"), "1");
  ASSERT_TRUE(Save(1, Work()));
  EXPECT_EQ(Stored("files").size(), 2U);
  Write(At(1, "small"), "2");
  ASSERT_TRUE(Save(1, Work()));
  Settle();
  EXPECT_EQ(Stored("files").size(), 2U);
  EXPECT_EQ(Stored("saves").size(), 1U);
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  EXPECT_EQ(Read(At(2, "small")), "2");
}

TEST_F(CheckpointsTest, NothingIsStoredIfNothingChanged) {
  ASSERT_TRUE(Begin(1, Work()));
  ASSERT_TRUE(Save(1, Work()));
  EXPECT_TRUE(Stored().empty()) << "there was nothing";
  Write(At(1, "a"), "1");
  ASSERT_TRUE(Save(1, Work()));
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  const auto before = Stored();
  ASSERT_TRUE(Save(2, Work(2, "b")));
  EXPECT_EQ(Stored(), before) << "put back, and not touched";
  Write(At(2, "b"), "2");
  ASSERT_TRUE(Save(2, Work(2, "b")));
  Settle();
  EXPECT_EQ(Stored("files/b").size(), 2U) << "nothing of another writer is relied on";
}

TEST_F(CheckpointsTest, AFileThatChangesWhileItIsReadGivesTheSaveUp) {
  ASSERT_TRUE(Begin(1, Work()));
  Write(At(1, "a"), "good");
  ASSERT_TRUE(Save(1, Work()));
  Write(At(1, "a"), "half of");
  on_find_ = [this](std::string_view) { Write(At(1, "a"), "half of it"); };
  const auto saved = Save(1, Work());
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Code::kConflict);
  on_find_ = nullptr;
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  EXPECT_EQ(Read(At(2, "a")), "good");
}

TEST_F(CheckpointsTest, WithoutItsSaveFilesAreNothing) {
  ASSERT_TRUE(Begin(1, Work()));
  Write(At(1, "a"), "1");
  ASSERT_TRUE(Save(1, Work()));
  for (const auto& name : Stored("saves")) fs::remove(folder_ / "store/saves" / name);
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  EXPECT_TRUE(fs::is_empty(At(2)));
}

TEST_F(CheckpointsTest, ASaveWhoseFilesAreGoneIsNothing) {
  ASSERT_TRUE(Begin(1, Work()));
  Write(At(1, "a"), "1");
  Write(At(1, "b"), "2");
  ASSERT_TRUE(Save(1, Work()));
  fs::remove(folder_ / "store/files" / Stored("files").at(1));
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  EXPECT_TRUE(fs::is_empty(At(2))) << "all or nothing";
}

TEST_F(CheckpointsTest, ALostAttemptSpoilsNothingOfALaterOne) {
  ASSERT_TRUE(Begin(1, Work(1, "a")));
  Write(At(1, "a"), "first");
  ASSERT_TRUE(Save(1, Work(1, "a")));
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  Write(At(2, "a"), "second");
  ASSERT_TRUE(Save(2, Work(2, "b")));
  // The first does not know that it was given up: it saves, and then succeeds.
  Write(At(1, "a"), "late");
  ASSERT_TRUE(Save(1, Work(1, "a")));
  checkpoints_->DropSaves({{1}, 1}, Work(1, "a"));
  Settle();
  EXPECT_TRUE(Stored("files/a").empty());
  ASSERT_TRUE(Begin(3, Work(3, "c")));
  EXPECT_EQ(Read(At(3, "a")), "second");
}

TEST_F(CheckpointsTest, ASuccessLeavesNothing) {
  ASSERT_TRUE(Begin(1, Work(1, "a")));
  Write(At(1, "a"), "1");
  ASSERT_TRUE(Save(1, Work(1, "a")));
  ASSERT_TRUE(Begin(2, Work(1, "b", 1)));
  EXPECT_EQ(Read(At(2, "a")), "1") << "a retry begins from it too";
  Write(At(2, "a"), "2");
  ASSERT_TRUE(Save(2, Work(1, "b", 1)));
  checkpoints_->DropSaves({{1}, 2}, Work(1, "b", 1));
  Settle();
  EXPECT_TRUE(Stored().empty());
}

TEST_F(CheckpointsTest, AnAgentThatTakesOverGoesOnBehindWhatWasSaved) {
  ASSERT_TRUE(Begin(1, Work()));
  for (int i = 0; i < 3; ++i) {
    Write(At(1, "a"), std::string(static_cast<std::size_t>(i + 1), 'x'));
    ASSERT_TRUE(Save(1, Work()));
  }
  Settle();
  Restart();
  Write(At(1, "a"), "later");
  ASSERT_TRUE(Save(1, Work()));
  ASSERT_TRUE(Begin(2, Work(2, "b")));
  EXPECT_EQ(Read(At(2, "a")), "later");
}

TEST_F(CheckpointsTest, WhatIsNoPlainFileIsNotSaved) {
  Write(folder_ / "secret", "of the machine");
  ASSERT_TRUE(Begin(1, Work()));
  fs::create_symlink(folder_ / "secret", At(1, "link"));
  EXPECT_FALSE(Save(1, Work()));
  fs::remove(At(1, "link"));
  fs::create_hard_link(folder_ / "secret", At(1, "hard"));
  EXPECT_FALSE(Save(1, Work()));
  fs::remove(At(1, "hard"));
  ASSERT_EQ(mkfifo(At(1, "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(Save(1, Work()));
  fs::remove(At(1, "fifo"));
  // The whole folder leads elsewhere.
  const fs::path top = At(1).parent_path();
  fs::remove_all(top);
  fs::create_directory_symlink(folder_, top);
  EXPECT_FALSE(Save(1, Work()));
  EXPECT_TRUE(Stored().empty());
}

TEST_F(CheckpointsTest, ASaveThatSomebodyForgedStaysInItsFolder) {
  Write(folder_ / "store/files/w/0-0", "evil");
  for (const char* name : {"../../outside", "/abs", "a/../../b", ""}) {
    Write(folder_ / "store/saves/00000000-00000001-0000000000-w.json",
          std::string(R"({"files":[{"name":")") + name + R"(","object":"w/0-0","bytes":4}]})");
    EXPECT_FALSE(Begin(1, Work())) << name;
  }
  EXPECT_FALSE(fs::exists(fs::path(Root()) / "1/outside"));
  EXPECT_FALSE(fs::exists(fs::path(Root()) / "outside"));
}

TEST_F(CheckpointsTest, WhatIsForgottenMeanwhileIsGone) {
  ASSERT_TRUE(Begin(1, Work()));
  Write(At(1, "a"), "1");
  ASSERT_TRUE(Save(1, Work()));
  on_find_ = [this](std::string_view url) {
    if (url.find("/files/") == url.npos) return;
    checkpoints_->Forget({{1}, 2});
    DataPlaces(Root()).Remove({{1}, 2});
  };
  const auto restored = Begin(2, Work(2, "b"));
  ASSERT_FALSE(restored);
  EXPECT_FALSE(fs::exists(At(2)));
  EXPECT_FALSE(fs::exists(fs::path(Root()) / "1/restore/2"));
}

}  // namespace
}  // namespace tidemill
