// SPDX-License-Identifier: Apache-2.0
#include "cli/failures.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

FailureGroup Group(std::int64_t count, std::vector<std::int64_t> first, std::string signature) {
  FailureGroup group;
  group.key = {std::move(signature), Cause::kFailed};
  group.count = count;
  group.first_items = std::move(first);
  group.example.item = group.first_items.front();
  return group;
}

TEST(FailuresTest, SaysHowManyWhatAndWhich) {
  EXPECT_EQ(GroupText(Group(412, {3, 17, 90, 91, 92}, "FileNotFoundError at load.py:31")),
            "412 items: FileNotFoundError at load.py:31 (items 3, 17, 90 ...)");
  EXPECT_EQ(GroupText(Group(2, {3, 17}, "exit code 3")), "2 items: exit code 3 (items 3, 17)");
  EXPECT_EQ(GroupText(Group(1, {3}, "a\x1b[31mb")).find('\x1b'), std::string::npos);
  EXPECT_EQ(GroupText(Group(1, {3}, "timeout")), "1 item: timeout (item 3)");
}

TEST(FailuresTest, AddsUpWhatIsNotShown) {
  FailureSummary summary;
  summary.groups = {Group(9, {1}, "a"), Group(8, {2}, "b"), Group(7, {3}, "c")};
  summary.rest_groups = 2;
  summary.rest_items = 5;
  EXPECT_EQ(GroupLines(summary, 2), (std::vector<std::string>{"  1  9 items: a (items 1 ...)",
                                                              "  2  8 items: b (items 2 ...)",
                                                              "  and 12 items in 3 other groups"}));
  summary.rest_groups = summary.rest_items = 0;
  EXPECT_EQ(GroupLines(summary, 3).size(), 3u);
}

TEST(FailuresTest, NamesTheNextCommandAndThatGroupsAreNotWhole) {
  std::string out;
  Console console;
  console.out = [&](std::string_view text) { out += text; };
  FailureSummary summary;
  PrintFailures(console, summary, "render-7");
  EXPECT_EQ(out, "no item has failed\n");
  out.clear();
  summary.failed = 1;
  summary.partial = true;
  summary.groups = {Group(1, {3}, "timeout")};
  PrintFailures(console, summary, "render-7");
  EXPECT_EQ(out,
            "  1  1 item: timeout (item 3)\n"
            "There are too many to tell all apart: counts of groups are at least these.\n"
            "Look:   tidemill logs render-7 --item 3\n"
            "Then:   tidemill retry render-7 --group 1\n");
}

}  // namespace
}  // namespace tidemill::cli
