// SPDX-License-Identifier: Apache-2.0
#include "objects/file_store.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "net/thread_pool.h"
#include "objects/object_contract.h"

namespace tidemill {
namespace {

class FileHolder : public ObjectStoreHolder {
 public:
  FileHolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "tidemill-objects-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    pool_.emplace(loop_, 2);
    store_.emplace(loop_, *pool_, folder_.string());
  }
  ~FileHolder() override {
    store_.reset();
    pool_.reset();
    std::filesystem::remove_all(folder_);
  }
  ObjectStore& store() override { return *store_; }
  bool takes_empty_parts() const override { return false; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::optional<ThreadPool> pool_;
  std::optional<FileStore> store_;
};

const ObjectStoreMaker kFile = [] { return std::make_unique<FileHolder>(); };
INSTANTIATE_TEST_SUITE_P(File, ObjectStoreTest, testing::Values(kFile));

class FileStoreTest : public ObjectStoreTest {
 protected:
  const std::filesystem::path& folder() { return static_cast<FileHolder&>(*holder_).folder(); }
};
INSTANTIATE_TEST_SUITE_P(File, FileStoreTest, testing::Values(kFile));

TEST_P(FileStoreTest, LeavesItsFolderByNoKey) {
  const std::string outside = folder().filename().string() + "-x";
  for (const std::string& key :
       {"../" + outside, "a/../../" + outside, std::string("/x"), std::string("a//b"),
        std::string("./x"), std::string("a/"), std::string(".tidemill-part-1")}) {
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Put(key, "x"));
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Get(key));
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Delete(key));
  }
  EXPECT_FALSE(std::filesystem::exists(folder().parent_path() / outside));
}

// Against a slow one: all keys, sorted, cut into pages.
TEST_P(FileStoreTest, ListsAnyTreeInOrderWhateverThePages) {
  std::mt19937 random(3);
  std::set<std::string> keys;
  const std::vector<std::string> names = {"a", "a-", "a.b", "ab", "b", "B", "é", "0"};
  for (int i = 0; i < 60; ++i) {
    std::string key;
    for (auto depth = random() % 4; depth > 0; --depth) key += "d" + names[random() % 8] + "/";
    keys.insert(key + names[random() % 8]);
  }
  for (const std::string& key : keys) TIDEMILL_EXPECT_OK(Put(key, "x"));
  for (const char* const empty : {"d-empty/x", "da/aa", "z"}) {
    std::filesystem::create_directories(folder() / empty);
  }
  for (const std::string prefix : {"", "d", "da", "da/", "da/a", "da/d", "db/da/"}) {
    for (const std::string& delimiter : {std::string(), std::string("/")}) {
      std::set<std::string> expected;
      for (const std::string& key : keys) {
        if (!key.starts_with(prefix)) continue;
        const auto cut = delimiter.empty() ? key.npos : key.find('/', prefix.size());
        expected.insert(cut == key.npos ? key : key.substr(0, cut + 1));
      }
      for (const int most : {1, 2, 7, 1000}) {
        std::vector<std::string> seen;
        ListOptions options{.prefix = prefix, .delimiter = delimiter, .most = most};
        do {
          const auto page = List(options);
          ASSERT_TRUE(page) << page.error().reason;
          std::vector<std::string> found = KeysOf(*page);
          found.insert(found.end(), page->prefixes.begin(), page->prefixes.end());
          std::sort(found.begin(), found.end());
          seen.insert(seen.end(), found.begin(), found.end());
          options.next = page->next;
        } while (!options.next.empty() && seen.size() <= keys.size());
        EXPECT_EQ(seen, std::vector<std::string>(expected.begin(), expected.end()))
            << prefix << delimiter << most;
      }
    }
  }
  EXPECT_TRUE(List({.prefix = "../"})->objects.empty());
}

TEST_P(FileStoreTest, ShowsNoFileThatIsNotWhole) {
  std::ofstream(folder() / ".tidemill-part-abcdef") << "half";
  EXPECT_TRUE(List({})->objects.empty());
  TIDEMILL_EXPECT_OK(Put("a", "whole"));
  EXPECT_EQ(KeysOf(List({}).value()), std::vector<std::string>{"a"});
  const auto files = std::filesystem::directory_iterator(folder());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_P(FileStoreTest, NoticesAFileThatChangesWhileItIsRead) {
  TIDEMILL_EXPECT_OK(Put("a", Long(60 << 20)));
  const auto on_piece = [this](std::string_view) -> Result<void> {
    std::filesystem::resize_file(folder() / "a", 1000);
    return {};
  };
  TIDEMILL_EXPECT_CODE(Code::kConflict,
                       Await<ObjectInfo>([&](auto done) { store_.Get("a", {}, on_piece, done); }));
}

}  // namespace
}  // namespace tidemill
