// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/context.h"

// What a person, or a program, reads of a bucket that is watched.
namespace tidemill::cli {

struct BucketTotals {
  std::int64_t listed = 0;  // objects of the last listing, or of the one under way
  bool is_listing = false;
  std::int64_t added = 0;
  std::int64_t known = 0;    // what the server had been told before
  std::int64_t waiting = 0;  // messages that came and are not dealt with yet
  std::int64_t unread = 0;   // messages that cannot be read, each time that one comes
  std::int64_t unfit = 0;    // keys that can be no item
  std::optional<std::int64_t> last_ms = {};  // when an item was added
};

// The line that is drawn over and over. Pure.
std::string BucketLine(const std::string& job, const BucketTotals& totals, std::int64_t now_ms,
                       std::size_t columns);

struct BucketAdded {
  bool by_listing = false;  // else by messages
  std::int64_t added = 0;
  std::int64_t known = 0;
};
struct BucketListed {
  std::int64_t objects = 0;
  std::int64_t added = 0;
  std::int64_t took_ms = 0;
};

// Tells what happens: on a terminal a line that is drawn over and over, elsewhere a line an event,
// which is JSON for programs. One thread.
class BucketView {
 public:
  // The context outlives it. `bucket` is its URL.
  BucketView(const Context& context, std::string bucket)
      : context_(context), bucket_(std::move(bucket)) {}

  void Begin(const std::string& job, bool once);
  void Draw(const BucketTotals& totals) const;
  void Added(const BucketAdded& event) const;
  // Of listings that find nothing new only the first is told.
  void Listed(const BucketListed& event, bool once);
  // Something failed and is tried again. `with` is "bucket" or "queue".
  void Trouble(std::string_view with, const std::string& reason) const;
  // A message that cannot be read. It comes again and again: the first tells enough.
  void Unread(const std::string& reason);
  // Before a line that ends it all.
  void Clear() const;
  void Stopped() const;

 private:
  bool draws() const;
  void Say(const std::string& line) const;

  const Context& context_;
  const std::string bucket_;
  std::string job_;
  bool told_listing_ = false;
  bool told_unread_ = false;
};

}  // namespace tidemill::cli
