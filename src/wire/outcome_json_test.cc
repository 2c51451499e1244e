// SPDX-License-Identifier: Apache-2.0
#include "wire/outcome_json.h"

#include <gtest/gtest.h>

#include "wire/failure_json.h"

namespace tidemill {
namespace {

OutcomeRow Row() {
  OutcomeRow row;
  row.outcome = {.item = 17,
                 .round = 1,
                 .attempt = 2,
                 .cause = Cause::kFailed,
                 .exit = 3,
                 .start_ms = 1'700'000'000'123,
                 .duration_ms = 4200,
                 .cpu_ms = 4000,
                 .memory_bytes = 1 << 20,
                 .machine = "i-1",
                 .log = "pack-1",
                 .error = "KeyError: '...' at load.py:31",
                 .result = R"({"score":0.5})",
                 .devices = "a.b/c=0,1"};
  row.text = "a\t\"b\"";
  row.last = true;
  return row;
}

TEST(OutcomeJson, ARowIsALineOfTheSameFields) {
  std::string line;
  AppendOutcomeRow(line, Row());
  EXPECT_EQ(line,
            R"({"item":17,"text":"a\t\"b\"","round":1,"attempt":2,"last":true,"cause":"failed",)"
            R"("exit":3,"started_at":"2023-11-14T22:13:20.123Z","duration_ms":4200,"cpu_ms":4000,)"
            R"("memory_bytes":1048576,"machine":"i-1","log":"pack-1",)"
            R"("error":"KeyError: '...' at load.py:31","result":{"score":0.5},)"
            R"("devices":"a.b/c=0,1"})");
  EXPECT_EQ(*ParseOutcomeRow(line), Row());
  std::string empty;
  AppendOutcomeRow(empty, {});
  EXPECT_EQ(*ParseOutcomeRow(empty), OutcomeRow());
}

TEST(OutcomeJson, WhatAnAgentSaysIsAResultBreaksNoLine) {
  for (const char* result : {"{", "1}", "\n", "\xff", "nul", "{\"a\":1}x"}) {
    OutcomeRow row = Row();
    row.outcome.result = result;
    std::string line;
    AppendOutcomeRow(line, row);
    const auto read = ParseOutcomeRow(line);
    ASSERT_TRUE(read) << line;
    EXPECT_EQ(read->outcome.item, 17);
    EXPECT_TRUE(read->outcome.result.starts_with('"'));
  }
}

// JSON allows line breaks between its words; a ledger's line must not have any.
TEST(OutcomeJson, AResultOfSeveralLinesIsOneLine) {
  OutcomeRow row = Row();
  row.outcome.result = "{\n \"a\": [1,\r\n2]\n}";
  std::string line;
  AppendOutcomeRow(line, row);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(ParseOutcomeRow(line)->outcome.result, "{\"a\":[1,2]}");
}

TEST(OutcomeJson, PagesComeBack) {
  OutcomePage page;
  page.rows = {Row(), Row()};
  page.next = OutcomePlace{3, 6150, 1, 2};
  const auto read = ParseOutcomes(FormatOutcomes(page));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rows, page.rows);
  EXPECT_EQ(read->next, page.next);
  EXPECT_EQ(FormatOutcomes({}), "{\"outcomes\":[]}");
  EXPECT_EQ(ParseOutcomePlace("0.-1.0.0"), OutcomePlace());
  for (const char* text : {"", "1", "1.2.3", "1.2.3.4.5", "-1.2.3.4", "1.-2.3.4", "1.2.3.x",
                           "1.100000000.0.1", "1.2.3.4 "}) {
    EXPECT_FALSE(ParseOutcomePlace(text)) << text;
  }
}

TEST(FailureJson, GroupsComeBack) {
  FailureSummary summary;
  summary.failed = 500;
  summary.rest_groups = 3;
  summary.rest_items = 80;
  summary.partial = true;
  FailureGroup& group = summary.groups.emplace_back();
  group.key = {"KeyError: '...' at load.py:31", Cause::kFailed};
  group.count = 420;
  group.first_items = {3, 17, 90};
  group.example.item = 3;
  group.example.cause = Cause::kFailed;
  group.example.error = group.key.signature;
  group.example.exit = 1;
  group.example.machine = "i-1";
  const auto read = ParseFailures(FormatFailures(summary));
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(*read, summary);
}

}  // namespace
}  // namespace tidemill
