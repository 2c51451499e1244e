// SPDX-License-Identifier: Apache-2.0
#include "objects/file_store.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

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
