// SPDX-License-Identifier: Apache-2.0
#include "data/mover/put_owned.h"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "objects/file_store.h"

namespace tidemill {
namespace {

// A store in which something happens just before an object is replaced.
class StoreWithOthers : public ObjectStore {
 public:
  explicit StoreWithOthers(ObjectStore& store) : store_(store) {}

  std::function<void(std::function<void()> go_on)> before_swap;

  void Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) override {
    if (options.if_absent || !before_swap) {
      return store_.Put(key, std::move(body), std::move(options), std::move(done));
    }
    std::exchange(before_swap,
                  {})([this, key, body = std::move(body), options = std::move(options),
                       done = std::move(done)] { store_.Put(key, body, options, done); });
  }
  void Head(const std::string& key, Done<ObjectInfo> done) override {
    store_.Head(key, std::move(done));
  }
  void Get(const std::string& key, ObjectRange range, OnPiece on_piece,
           Done<ObjectInfo> done) override {
    store_.Get(key, range, std::move(on_piece), std::move(done));
  }
  void List(ListOptions options, Done<ListPage> done) override {
    store_.List(std::move(options), std::move(done));
  }
  void Delete(const std::string& key, Done<void> done) override {
    store_.Delete(key, std::move(done));
  }

 private:
  ObjectStore& store_;
};

class PutOwnedTest : public ::testing::Test {
 protected:
  PutOwnedTest() { std::filesystem::create_directories(folder_); }
  ~PutOwnedTest() override { std::filesystem::remove_all(folder_); }

  static PutOwned Of(std::int32_t round, const std::string& text) {
    PutOwned put{.key = "out", .body = BodyOf(text)};
    put.owner = {.job = "films/render-1", .item = 3, .round = round, .attempt = text};
    return put;
  }
  Result<void> Store(std::int32_t round, const std::string& text) {
    std::optional<Result<void>> stored;
    Put(store_, Of(round, text), [&](Result<void> result) {
      stored.emplace(std::move(result));
      loop_.Stop();
    });
    while (!stored) loop_.Run();
    return *std::move(stored);
  }
  std::string Stored() {
    std::string text;
    bool is_over = false;
    files_.Get(
        "out", {},
        [&](std::string_view piece) -> Result<void> {
          text += piece;
          return {};
        },
        [&](const Result<ObjectInfo>&) {
          is_over = true;
          loop_.Stop();
        });
    while (!is_over) loop_.Run();
    return text;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / "put_owned_test";
  AsioLoop loop_;
  ThreadPool worker_{loop_, 1};
  FileStore files_{loop_, worker_, folder_.string()};
  StoreWithOthers store_{files_};
};

TEST_F(PutOwnedTest, TheFirstOfARoundStaysAlsoIfAnotherWasAboutToReplaceTheOneBefore) {
  ASSERT_TRUE(Store(0, "of the round before"));
  store_.before_swap = [this](const std::function<void()>& go_on) {
    Put(store_, Of(1, "winner"), [go_on](const Result<void>& stored) {
      EXPECT_TRUE(stored);
      go_on();
    });
  };
  const Result<void> late = Store(1, "late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnavailable) << "it is to look again";
  EXPECT_EQ(Stored(), "winner");
  EXPECT_TRUE(Store(1, "late"));
  EXPECT_EQ(Stored(), "winner");
}

}  // namespace
}  // namespace tidemill
