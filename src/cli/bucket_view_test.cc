// SPDX-License-Identifier: Apache-2.0
#include "cli/bucket_view.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

class BucketViewTest : public ::testing::Test {
 protected:
  BucketViewTest() {
    console_.out = [this](std::string_view text) { out_ += text; };
    console_.err = [this](std::string_view text) { err_ += text; };
    around_.now_ms = [] { return std::int64_t{100'000}; };
  }
  std::string TakeOut() { return std::exchange(out_, ""); }
  std::string TakeErr() { return std::exchange(err_, ""); }

  std::string out_;
  std::string err_;
  Console console_;
  Surroundings around_;
  AsioLoop loop_;
  Client client_{loop_, console_, "http://127.0.0.1:1", {.host = "127.0.0.1", .port = 1}};
  Target target_;
  Context context_{console_, around_, client_, target_};
  BucketView view_{context_, "s3://in/"};
};

TEST(BucketLine, SaysWhatThereIs) {
  BucketTotals totals{.listed = 1, .is_listing = true};
  EXPECT_EQ(BucketLine("r-7", totals, 0, 100), "r-7: 1 object listed so far, 0 added, 0 known");
  totals = {.listed = 10'000, .added = 12, .known = 9'988, .waiting = 1, .last_ms = 60'000};
  EXPECT_EQ(BucketLine("r-7", totals, 64'000, 200),
            "r-7: 10,000 objects listed, 12 added, 9,988 known, 1 message waiting; last arrival 4 "
            "s ago");
  totals = {.unread = 2, .unfit = 3};
  EXPECT_EQ(BucketLine("r-7", totals, 0, 200),
            "r-7: 0 objects listed, 0 added, 0 known, 2 unread, 3 can be no item");
  EXPECT_EQ(BucketLine("r-7", totals, 0, 10), "r-7: 0 ob…");
}

TEST_F(BucketViewTest, WritesALineForWhatHappens) {
  view_.Begin("r-7", false);
  EXPECT_EQ(TakeOut(),
            "r-7 takes what arrives in s3://in/\nSee it:  tidemill show r-7   Ctrl-C ends this\n");
  view_.Draw({});
  view_.Added({.added = 0, .known = 3});
  EXPECT_EQ(TakeOut(), "");
  view_.Added({.by_listing = true, .added = 1'000, .known = 3});
  view_.Added({.added = 1});
  EXPECT_EQ(TakeOut(), "1,000 items added, by listing (3 known)\n1 item added, by messages\n");
  view_.Listed({.objects = 1'003, .added = 1'000, .took_ms = 1'500}, false);
  view_.Listed({.objects = 1'003, .took_ms = 1'500}, false);
  EXPECT_EQ(TakeOut(), "1,003 objects listed in 1.5 s, 1,000 of them new\n");
  view_.Trouble("bucket", "no answer\x1b");
  view_.Unread("it is not a JSON object");
  view_.Unread("it is not a JSON object");
  EXPECT_EQ(TakeErr(),
            "the bucket: no answer?; trying again\n"
            "a message cannot be read: it is not a JSON object; such ones stay in the queue\n");
  view_.Stopped();
  EXPECT_EQ(TakeErr(),
            "r-7 stays open. Watch on:  the same command   Close it:  tidemill close r-7\n");
}

TEST_F(BucketViewTest, DrawsOneLineOnATerminal) {
  console_.out_terminal = true;
  view_.Begin("r-7", false);
  TakeOut();
  view_.Added({.added = 1});
  view_.Listed({.objects = 1}, false);
  EXPECT_EQ(TakeOut(), "");
  view_.Draw({.listed = 1});
  EXPECT_EQ(TakeOut(), "\r\x1b[Kr-7: 1 object listed, 0 added, 0 known");
}

TEST_F(BucketViewTest, SpeaksJsonToPrograms) {
  console_.json = true;
  view_.Begin("r-7", false);
  view_.Added({.added = 2, .known = 1});
  view_.Listed({.objects = 3, .added = 2, .took_ms = 9}, false);
  view_.Trouble("queue", "away");
  view_.Stopped();
  EXPECT_EQ(TakeOut(), R"({"event": "watching", "job": "r-7", "bucket": "s3://in/"})"
                       "\n"
                       R"({"event": "added", "by": "messages", "added": 2, "known": 1})"
                       "\n"
                       R"({"event": "listed", "objects": 3, "added": 2, "took_ms": 9})"
                       "\n"
                       R"({"event": "trouble", "with": "queue", "reason": "away"})"
                       "\n"
                       R"({"event": "stopped", "job": "r-7", "bucket": "s3://in/"})"
                       "\n");
  EXPECT_EQ(TakeErr(), "");
}

}  // namespace
}  // namespace tidemill::cli
