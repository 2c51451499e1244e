// SPDX-License-Identifier: Apache-2.0
#include "agent/tails.h"

#include <gtest/gtest.h>

#include "report/signature.h"

namespace tidemill {
namespace {

class KeptLogs : public ItemLogs {
 public:
  void Append(const LogPlace&, std::string_view bytes) override { text += bytes; }
  std::string Close(const LogPlace&) override {
    ++closed;
    return "pack";
  }
  void UseSession(const std::string&, bool) override {}
  void Resume(const LogPlace&) override {}
  void StoreAt(JobId, const std::string&) override {}
  void Follow(const std::vector<JobId>&) override {}
  void LimitAttempts(std::int64_t bytes) override { limit = bytes; }
  std::string text;
  int closed = 0;
  std::int64_t limit = 0;
};

TEST(TailsTest, KeepsTheLastWordsOfThoseThatRun) {
  KeptLogs logs;
  Tails tails(logs);
  const LogPlace one{{7}, 1, 0, 1};
  const LogPlace two{{7}, 2, 0, 1};
  tails.Begin(one);
  std::string all;
  for (int i = 0; i < 5000; ++i) {
    const std::string word = std::to_string(i) + "\n";
    all += word;
    tails.Append(one, word);
    tails.Append(two, "x");
  }
  EXPECT_EQ(logs.text.size(), all.size() + 5000);
  EXPECT_EQ(tails.Take(one), all.substr(all.size() - kTailBytes));
  EXPECT_EQ(tails.Take(one), "");
  EXPECT_EQ(tails.Take(two), "");
}

TEST(TailsTest, APieceOfAnySizeIsCutAtItsEnd) {
  KeptLogs logs;
  for (const std::size_t size : {std::size_t{1}, kTailBytes - 1, kTailBytes, 3 * kTailBytes}) {
    Tails tails(logs);
    const LogPlace place{{7}, 1, 0, 1};
    tails.Begin(place);
    std::string all = "begin";
    tails.Append(place, all);
    for (char c : {'a', 'b', 'c'}) {
      all += std::string(size, c);
      tails.Append(place, std::string(size, c));
    }
    EXPECT_EQ(tails.Take(place), all.substr(all.size() - std::min(all.size(), kTailBytes)));
  }
}

TEST(TailsTest, PassesOnAllElse) {
  KeptLogs logs;
  Tails tails(logs);
  tails.Close({{7}, 1, 0, 1});
  tails.LimitAttempts(5);
  EXPECT_EQ(logs.closed, 1);
  EXPECT_EQ(logs.limit, 5);
}

}  // namespace
}  // namespace tidemill
