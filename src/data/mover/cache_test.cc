// SPDX-License-Identifier: Apache-2.0
// What all items of a job need, from a store that is a folder.
#include "data/mover/cache.h"

#include <sys/stat.h>
#include <unistd.h>

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
using Held = JobCache::Held;

// Counts what is asked of a store, and may hold a get back.
class CountingStore : public ObjectStore {
 public:
  CountingStore(ObjectStore& store, int& gets, std::function<void()>& on_get)
      : store_(store), gets_(gets), on_get_(on_get) {}
  void Head(const std::string& key, Done<ObjectInfo> done) override { store_.Head(key, done); }
  void Get(const std::string& key, ObjectRange range, OnPiece on_piece,
           Done<ObjectInfo> done) override {
    ++gets_;
    if (on_get_) on_get_();
    store_.Get(key, range, on_piece, done);
  }
  void Put(const std::string&, ObjectBody, PutOptions, Done<void>) override { FAIL(); }
  void List(ListOptions options, Done<ListPage> done) override { store_.List(options, done); }
  void Delete(const std::string&, Done<void>) override { FAIL(); }

 private:
  ObjectStore& store_;
  int& gets_;
  std::function<void()>& on_get_;
};

class DataCacheTest : public testing::Test {
 protected:
  DataCacheTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-cache-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::create_directory(folder_ / "store");
    Restart();
    loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }
  ~DataCacheTest() override {
    cache_.reset();
    stores_.reset();
    disk_.reset();
    fs::remove_all(folder_);
  }

  // A new life on the same disk.
  void Restart(std::int64_t budget = 100) {
    cache_.reset();
    counting_.clear();
    stores_.reset();
    disk_.emplace(loop_, 2);
    stores_.emplace(ObjectStores::Shared{loop_, *disk_, random_, world_});
    earlier_ = std::make_shared<char>();
    cache_.emplace(
        *disk_,
        [this](std::string_view url) -> Result<FoundObject> {
          TIDEMILL_TRY(ObjectStores::Place place, stores_->Find(url));
          auto& counting = counting_[place.store];
          if (!counting) counting = std::make_unique<CountingStore>(*place.store, gets_, on_get_);
          return FoundObject{counting.get(), place.key};
        },
        DataCache::Options{Root().string(), budget, earlier_});
    cache_->Scan();
  }
  fs::path Root() const { return folder_ / "cache"; }

  void Ask(const std::vector<CacheUse>& uses, const std::string& project = "films") {
    ++waiting_;
    cache_->Get(project, uses, [this](const Result<Held>& held) {
      got_.push_back(held);
      if (--waiting_ == 0) loop_.Stop();
    });
  }
  void Await() {
    if (waiting_ > 0) loop_.Run();
  }
  Result<Held> Get(const std::vector<CacheUse>& uses, const std::string& project = "films") {
    got_.clear();
    Ask(uses, project);
    Await();
    Result<Held> held = got_.at(0);
    got_.clear();
    return held;
  }
  std::string PathOf(const std::string& key, const std::string& project = "films") {
    const auto held = Get({{"x", Url(key)}}, project);
    return held ? (*held)->paths.at("x") : "error: " + held.error().reason;
  }
  std::string Url(const std::string& key) const {
    return "file://" + (folder_ / "store" / key).string();
  }
  void Write(const std::string& key, const std::string& text) {
    const fs::path path = folder_ / "store" / key;
    fs::create_directories(path.parent_path());
    fs::remove(path);
    std::ofstream(path) << text;
  }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What is there and is not a view: by its name below the project's folder.
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const auto& project : fs::directory_iterator(Root())) {
      if (project.path().filename() == "views") continue;
      for (const auto& entry : fs::directory_iterator(project.path())) {
        names.push_back(entry.path().filename().string());
      }
    }
    return names;
  }

  fs::path folder_;
  AsioLoop loop_;
  SystemRandom random_;
  CloudWorld world_ = SystemWorld();
  std::optional<ThreadPool> disk_;
  std::optional<ObjectStores> stores_;
  std::map<ObjectStore*, std::unique_ptr<CountingStore>> counting_;
  std::shared_ptr<char> earlier_;
  std::optional<DataCache> cache_;
  std::function<void()> on_get_;
  int gets_ = 0;
  int waiting_ = 0;
  std::vector<Result<Held>> got_;
};

TEST_F(DataCacheTest, IsFetchedOnceForAllWhoAsk) {
  Write("weights", "heavy");
  for (int i = 0; i < 10; ++i) Ask({{"w", Url("weights")}});
  Await();
  ASSERT_EQ(got_.size(), 10U);
  for (const auto& held : got_) {
    ASSERT_TRUE(held) << held.error().reason;
    EXPECT_EQ(Read((*held)->paths.at("w")), "heavy");
    EXPECT_EQ(Read((*held)->folder + "/w"), "heavy");
  }
  EXPECT_EQ(gets_, 1);
  Restart();
  EXPECT_EQ(Read(PathOf("weights")), "heavy");
  EXPECT_EQ(gets_, 1) << "also after a restart";
}

TEST_F(DataCacheTest, AFolderHasAllThatIsBelowIt) {
  Write("ref/a", "1");
  Write("ref/deep/b", "22");
  const auto held = Get({{"ref", Url("ref/")}, {"one", Url("ref/a")}});
  ASSERT_TRUE(held) << held.error().reason;
  EXPECT_EQ(Read((*held)->paths.at("ref") + "/deep/b"), "22");
  EXPECT_EQ(Read((*held)->folder + "/ref/a"), "1");
  EXPECT_EQ(Read((*held)->folder + "/one"), "1");
}

TEST_F(DataCacheTest, NothingIsSharedBetweenProjects) {
  Write("a", "1");
  EXPECT_NE(PathOf("a", "films"), PathOf("a", "banks"));
  EXPECT_EQ(gets_, 2);
}

TEST_F(DataCacheTest, WhatChangesIsAnotherAndTheOldStaysWhileItIsUsed) {
  Write("a", "old");
  const auto old = Get({{"a", Url("a")}});
  Write("a", "new");
  EXPECT_EQ(Read(PathOf("a")), "new");
  EXPECT_EQ(Read((*old)->paths.at("a")), "old");
}

TEST_F(DataCacheTest, WhatNobodyUsesGoesByItsLastUse) {
  for (const char* key : {"a", "b", "c"}) Write(key, std::string(30, *key));
  const std::string a = PathOf("a");
  const std::string b = PathOf("b");
  const std::string c = PathOf("c");
  EXPECT_EQ(PathOf("a"), a);  // used again
  Write("d", std::string(40, 'd'));
  EXPECT_EQ(Read(PathOf("d")), std::string(40, 'd'));
  EXPECT_TRUE(fs::exists(a));
  EXPECT_FALSE(fs::exists(b));
  EXPECT_TRUE(fs::exists(c));
}

TEST_F(DataCacheTest, WhatIsInUseStaysAndOthersWait) {
  Write("a", std::string(60, 'a'));
  Write("b", std::string(60, 'b'));
  auto held = Get({{"a", Url("a")}});
  const auto refused = Get({{"b", Url("b")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(Read((*held)->paths.at("a")), std::string(60, 'a'));
  held = Fail(Code::kLost, "");  // let go
  EXPECT_EQ(Read(PathOf("b")), std::string(60, 'b'));
  EXPECT_EQ(Entries().size(), 1U);
}

TEST_F(DataCacheTest, WhatAnEarlierLifeMayUseStays) {
  Write("a", std::string(60, 'a'));
  Write("b", std::string(60, 'b'));
  const std::string a = PathOf("a");
  Restart();
  EXPECT_NE(PathOf("b").find("which others use now"), std::string::npos);
  EXPECT_TRUE(fs::exists(a));
  earlier_.reset();
  EXPECT_EQ(Read(PathOf("b")), std::string(60, 'b'));
  EXPECT_FALSE(fs::exists(a));
}

TEST_F(DataCacheTest, WhatIsLargerThanAllRoomSaysBothNumbers) {
  Write("a", std::string(101, 'a'));
  const auto refused = Get({{"a", Url("a")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(refused.error().reason,
            Url("a") + ": it has 101 bytes, and this machine keeps 100 for caches");
  EXPECT_EQ(gets_, 0);
}

TEST_F(DataCacheTest, WhatIsNotThereIsNamed) {
  const auto file = Get({{"a", Url("none")}});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kNotFound);
  EXPECT_TRUE(file.error().reason.starts_with(Url("none"))) << file.error().reason;
  const auto folder = Get({{"a", Url("none/")}});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::kNotFound);
}

TEST_F(DataCacheTest, AChangeWhileItIsFetchedLeavesNothing) {
  Write("a", "old");
  on_get_ = [this] { Write("a", "new!"); };
  const auto changed = Get({{"a", Url("a")}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::kUnavailable);
  EXPECT_TRUE(Entries().empty());
  on_get_ = nullptr;
  EXPECT_EQ(Read(PathOf("a")), "new!");
}

TEST_F(DataCacheTest, AKillInTheMiddleLeavesNothingHalf) {
  Write("ref/a", "1");
  Write("ref/b", "2");
  on_get_ = [this] { loop_.Stop(); };
  Ask({{"ref", Url("ref/")}});
  loop_.Run();
  ASSERT_EQ(Entries().size(), 1U);
  EXPECT_TRUE(Entries()[0].ends_with(".part")) << Entries()[0];
  on_get_ = nullptr;
  waiting_ = 0;
  Restart();
  EXPECT_TRUE(Entries().empty());
  const std::string path = PathOf("ref/");
  EXPECT_EQ(Read(path + "/a") + Read(path + "/b"), "12");
}

TEST_F(DataCacheTest, ViewsOfWhatIsGoneAreRemoved) {
  Write("a", std::string(60, 'a'));
  Write("b", std::string(60, 'b'));
  PathOf("a");
  PathOf("b");
  Restart();
  const fs::directory_iterator views(Root() / "views");
  EXPECT_EQ(std::distance(views, fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace tidemill
