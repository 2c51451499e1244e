// SPDX-License-Identifier: Apache-2.0
#include "wire/arrival_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(ArrivalJson, WhatIsWrittenIsRead) {
  const std::vector<Arrival> arrivals = {{"s3://in/a\tb.png", "s3://in/a\u00e9#1"}, {"plain", ""}};
  EXPECT_EQ(ParseArrivals(FormatArrivals(arrivals)).value(), arrivals);
}

TEST(ArrivalJson, SaysWhichEntryIsWrong) {
  const auto reason = [](const std::string& body) { return ParseArrivals(body).error().reason; };
  EXPECT_NE(reason("{}").find("items"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[]})").find("at least one"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[{"item":"a"},{}]})").find("items[1].item"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[{"item":""}]})").find("1 to 65536 bytes"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[{"item":"a\nb"}]})").find("one line"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[{"item":"a\u0000"}]})").find("one line"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[{"item":"a","once":""}]})").find("once"), std::string::npos);
  EXPECT_NE(reason(R"({"items":[{"item":"a","onec":"b"}]})").find("did you mean 'once'?"),
            std::string::npos);
}

TEST(ArrivalJson, TheAnswerIsTheJobAndWhatWasAdded) {
  AddedAnswer added;
  added.job.id = {7};
  added.job.spec.name = "in";
  added.job.spec.document = "{}";
  added.job.items = 12;
  added.known = 3;
  EXPECT_NE(FormatAdded(added).find("\"first\":null"), std::string::npos);
  EXPECT_EQ(ParseAdded(FormatAdded(added))->first, std::nullopt);
  added.first = 0;
  added.added = 12;
  const auto read = ParseAdded(FormatAdded(added));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, 0);
  EXPECT_EQ(read->added, 12);
  EXPECT_EQ(read->known, 3);
  EXPECT_EQ(read->job.items, 12);
}

}  // namespace
}  // namespace tidemill
