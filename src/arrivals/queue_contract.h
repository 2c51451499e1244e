// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every ArrivalQueue does.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "arrivals/arrival_queue.h"

namespace tidemill {

// A queue of some kind, with what a test needs to fill it and to wait for it.
struct QueueUnderTest {
  std::function<void(const ArrivedObject&)> put = {};
  std::function<void()> put_unreadable = {};
  std::function<Result<std::vector<ArrivalMessage>>()> receive = {};
  std::function<Result<void>(std::vector<std::string>)> remove = {};
  std::function<std::size_t()> left = {};  // not taken away, given out or not
  std::size_t full = 0;
};

inline void ExpectQueueContract(const QueueUnderTest& queue) {
  std::set<std::string> keys;
  const std::size_t all = queue.full + 3;
  for (std::size_t i = 0; i < all; ++i) {
    const std::string key = "a b+" + std::to_string(i) + ".png";
    keys.insert(key);
    queue.put({"in", key, "v1"});
  }
  std::vector<std::string> handles;
  while (handles.size() < all) {
    const auto got = queue.receive();
    ASSERT_TRUE(got) << got.error().reason;
    ASSERT_FALSE(got->empty()) << "a message does not come";
    EXPECT_LE(got->size(), queue.full);
    for (const ArrivalMessage& message : *got) {
      EXPECT_EQ(message.unread, "");
      ASSERT_EQ(message.objects.size(), 1U);
      EXPECT_EQ(message.objects[0].bucket, "in");
      EXPECT_EQ(message.objects[0].version, "v1");
      EXPECT_EQ(keys.erase(message.objects[0].key), 1U) << message.objects[0].key;
      handles.push_back(message.handle);
    }
  }
  EXPECT_EQ(queue.left(), all);
  const auto removed = queue.remove(handles);
  EXPECT_TRUE(removed) << removed.error().reason;
  EXPECT_EQ(queue.left(), 0U);
  queue.put_unreadable();
  const auto unread = queue.receive();
  ASSERT_TRUE(unread) << unread.error().reason;
  ASSERT_EQ(unread->size(), 1U);
  EXPECT_NE((*unread)[0].unread, "");
  EXPECT_TRUE((*unread)[0].objects.empty());
}

}  // namespace tidemill
