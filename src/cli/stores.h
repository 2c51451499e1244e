// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "cli/console.h"
#include "cloud/world.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "objects/open.h"

namespace tidemill::cli {

// The object stores that a command reads, with the credentials of whoever runs it. One thread.
class Stores {
 public:
  Stores(AsioLoop& loop, Random& random, CloudWorld world);

  Result<ObjectStores::Place> Find(std::string_view url) { return stores_.Find(url); }
  AsioLoop& loop() { return loop_; }

  // Starts something and runs the loop until it is done.
  template <typename T>
  Result<T> Await(const std::function<void(std::function<void(Result<T>)>)>& start) {
    std::optional<Result<T>> got;
    start([this, &got](Result<T> result) {
      got = std::move(result);
      loop_.Stop();
    });
    while (!got) loop_.Run();
    return *std::move(got);
  }

 private:
  AsioLoop& loop_;
  const CloudWorld world_;
  ThreadPool files_;
  ObjectStores stores_;
};

// Whether the text is a URL of one: s3://, gs:// or file://.
bool IsStoreUrl(std::string_view text);

// What a person can do about a store's error; empty: its own words say it.
std::string StoreHint(std::string_view url, Code code);
// The exit code that goes with an error of a list.
Exit ExitOf(Code code);

}  // namespace tidemill::cli
