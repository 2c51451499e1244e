// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "logs/pack.h"
#include "objects/object_store.h"

namespace tidemill {

// A pack in the store.
struct PackRef {
  std::string key = {};
  std::string session = {};
  std::string seq = {};  // twelve digits
  std::int64_t size_bytes = 0;
  std::string name() const { return session + "/" + seq; }
};

// What is fetched for one request.
struct LogCost {
  std::int64_t fetched_bytes = 0;
};

// Reads packs, some of them at once, and keeps the tables and directories that were read last:
// packs never change. Loop thread only; what takes time is done on the worker. Nothing survives a
// restart. Callbacks come later, never from inside; a `cost` lives as long as its request.
class Packs {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  using Table = std::shared_ptr<const PackTable>;
  using Directory = std::shared_ptr<const std::vector<PackEntry>>;
  using Cost = std::shared_ptr<LogCost>;

  // Reads under way: enough to hide a store's latency, few enough for its patience.
  static constexpr int kAtOnce = 32;
  // Of what is kept, as bytes in the store.
  static constexpr std::size_t kKeptBytes = 64 << 20;

  // Both outlive it.
  Packs(ObjectStore& store, Worker& worker) : store_(store), worker_(worker) {}

  struct Page {
    std::vector<PackRef> packs = {};
    std::string next = {};  // empty: this was the last
  };
  // Packs whose names begin with `begin`, below a place that ends with a slash.
  void List(const std::string& place, const std::string& begin, const std::string& next,
            Done<Page> done);
  // All of them; kExhausted: there are more than kPacksMost.
  static constexpr std::size_t kPacksMost = 200'000;
  void ListAll(const std::string& place, const std::string& begin, Done<std::vector<PackRef>> done);

  void GetTable(const PackRef& pack, const Cost& cost, Done<Table> done);
  void GetDirectory(const PackRef& pack, const Cost& cost, Done<Directory> done);
  // Unpacks the frame on the worker and hands it to `use` there; then calls `done`.
  void UseFrame(const PackRef& pack, const PackFrame& frame, const Cost& cost,
                std::function<void(const LogFrame&)> use, Done<void> done);

 private:
  struct Kept {
    Table table = {};
    Directory directory = {};
    std::size_t bytes = 0;
  };
  void Fetch(const std::string& key, ObjectRange range, const Cost& cost, Done<std::string> done);
  void FetchTable(const PackRef& pack, std::int64_t bytes, const Cost& cost, Done<Table> done);
  void FetchDirectory(const PackRef& pack, const Table& table, const Cost& cost,
                      Done<Directory> done);
  Kept& Keep(const std::string& key, std::size_t bytes);
  void Next();

  ObjectStore& store_;
  Worker& worker_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::map<std::string, Kept> kept_;
  std::deque<std::string> order_;  // of kept_, the oldest first
  std::size_t kept_bytes_ = 0;
  int under_way_ = 0;
  std::deque<std::function<void()>> waiting_;
};

}  // namespace tidemill
