// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the contract of ObjectStore stands on; its sentences are in object_contract_test.cc. A kind
// of store runs it with
//
//   INSTANTIATE_TEST_SUITE_P(File, ObjectStoreTest, testing::Values(ObjectStoreMaker(...)));
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/asio_loop.h"
#include "objects/object_store.h"

namespace tidemill {

// An empty store on a loop.
class ObjectStoreHolder {
 public:
  virtual ~ObjectStoreHolder() = default;
  virtual ObjectStore& store() = 0;
  // Whether keys may have empty parts.
  virtual bool takes_empty_parts() const { return true; }
  // What a server of the tests cannot do, though the store that it plays can.
  virtual bool lists_empty_parts() const { return true; }
  virtual bool counts_folded() const { return true; }
  AsioLoop& loop() { return loop_; }

 protected:
  AsioLoop loop_;
};
using ObjectStoreMaker = std::function<std::unique_ptr<ObjectStoreHolder>()>;

class ObjectStoreTest : public ::testing::TestWithParam<ObjectStoreMaker> {
 protected:
  ObjectStoreTest() : holder_(GetParam()()), store_(holder_->store()) {
    holder_->loop().After(std::chrono::seconds(120), [this] {
      ADD_FAILURE() << "the test hangs";
      holder_->loop().Stop();
    });
  }

  template <typename T>
  Result<T> Await(const std::function<void(std::function<void(Result<T>)>)>& start) {
    std::optional<Result<T>> got;
    start([this, &got](Result<T> result) {
      EXPECT_FALSE(got) << "called twice";
      got = std::move(result);
      holder_->loop().Stop();
    });
    EXPECT_FALSE(got) << "called from inside";
    holder_->loop().Run();
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }
  Result<void> Put(const std::string& key, const std::string& text, PutOptions options = {}) {
    return Await<void>([&](auto done) { store_.Put(key, BodyOf(text), options, done); });
  }
  Result<ObjectInfo> Head(const std::string& key) {
    return Await<ObjectInfo>([&](auto done) { store_.Head(key, done); });
  }
  Result<std::string> Get(const std::string& key, ObjectRange range = {}) {
    std::string text;
    const auto on_piece = [&text](std::string_view piece) -> Result<void> {
      text += piece;
      return {};
    };
    auto got = Await<ObjectInfo>([&](auto done) { store_.Get(key, range, on_piece, done); });
    if (!got) return tl::unexpected<Error>(got.error());
    return text;
  }
  Result<ListPage> List(const ListOptions& options) {
    return Await<ListPage>([&](auto done) { store_.List(options, done); });
  }
  Result<void> Delete(const std::string& key) {
    return Await<void>([&](auto done) { store_.Delete(key, done); });
  }
  static std::vector<std::string> KeysOf(const ListPage& page) {
    std::vector<std::string> keys;
    for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
    return keys;
  }
  // Text in which no two parts are alike.
  static std::string Long(std::size_t size) {
    std::string text;
    text.reserve(size + 8);
    for (std::uint32_t i = 0; text.size() < size; ++i) {
      text.append(reinterpret_cast<const char*>(&i), sizeof i);
    }
    text.resize(size);
    return text;
  }

  std::unique_ptr<ObjectStoreHolder> holder_;
  ObjectStore& store_;
};

#define TIDEMILL_EXPECT_CODE(expected, expression)                               \
  {                                                                              \
    const auto result_code = (expression);                                       \
    ASSERT_FALSE(result_code);                                                   \
    EXPECT_EQ(result_code.error().code, expected) << result_code.error().reason; \
  }
#define TIDEMILL_EXPECT_OK(expression)                                                             \
  {                                                                                                \
    const auto result_ok = (expression);                                                           \
    ASSERT_TRUE(result_ok) << CodeName(result_ok.error().code) << " " << result_ok.error().reason; \
  }

}  // namespace tidemill
