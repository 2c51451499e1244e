// SPDX-License-Identifier: Apache-2.0
#include "submit/csv.h"

#include <random>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Record = std::vector<std::string>;
using Records = std::vector<std::pair<std::int64_t, Record>>;

Records Read(std::string_view text, std::size_t step = 1, char separator = ',') {
  Records records;
  CsvReader reader(
      [&](std::int64_t line, const Record& fields) -> Result<void> {
        records.emplace_back(line, fields);
        return {};
      },
      separator);
  for (std::size_t at = 0; at < text.size(); at += step) {
    if (const auto fed = reader.Feed(text.substr(at, step)); !fed) {
      return {{-1, {fed.error().reason}}};
    }
  }
  if (const auto ended = reader.End(); !ended) return {{-1, {ended.error().reason}}};
  return records;
}

TEST(Csv, HasRecordsOfFields) {
  EXPECT_EQ(Read("a,b\n1,2\r\n,\n"), (Records{{1, {"a", "b"}}, {2, {"1", "2"}}, {3, {"", ""}}}));
  EXPECT_EQ(Read("a,b\n1,"), (Records{{1, {"a", "b"}}, {2, {"1", ""}}}));
  EXPECT_EQ(Read("a\tb", 3, '\t'), (Records{{1, {"a", "b"}}}));
  EXPECT_EQ(Read(""), Records{});
  EXPECT_EQ(Read("a\n\n\r\nb\n"), (Records{{1, {"a"}}, {4, {"b"}}}));
  EXPECT_EQ(Read("\"\"\n"), (Records{{1, {""}}}));
}

TEST(Csv, HasAnythingWithinQuotes) {
  EXPECT_EQ(Read("\"a,b\",\"say \"\"x\"\"\"\n\"two\nlines\r\n\",z\nq\n"),
            (Records{{1, {"a,b", "say \"x\""}}, {2, {"two\nlines\r\n", "z"}}, {5, {"q"}}}));
}

TEST(Csv, SaysWhereItIsWrong) {
  const auto wrong = [](std::string_view text) { return Read(text).at(0).second.at(0); };
  EXPECT_TRUE(wrong("a\nb\"c\n").starts_with("2: a quote inside of a field"));
  EXPECT_TRUE(wrong("a\n\"b\"c\n").starts_with("2: something stands behind the quote"));
  EXPECT_EQ(wrong("a\n\"b\nc\n"), "2: a quote that does not end");
  EXPECT_EQ(wrong("a\rb\n"), "1: a carriage return that ends no line");
  EXPECT_TRUE(
      wrong("\"" + std::string(CsvReader::kRecordBytes, 'a')).starts_with("1: this record"));
}

TEST(Csv, ReadsBackWhatIsWrittenWhateverThePieces) {
  std::mt19937 random(5);
  const std::vector<std::string> bits = {"a", ",", "\"", "\n", "\r\n", "\r", " ", "é", ""};
  for (int round = 0; round < 500; ++round) {
    const std::size_t columns = 1 + random() % 4;
    std::string text;
    std::vector<Record> expected;
    for (auto rows = random() % 6; rows > 0; --rows) {
      Record record;
      bool quoted = false;
      for (std::size_t i = 0; i < columns; ++i) {
        std::string field;
        for (auto size = random() % 5; size > 0; --size) field += bits[random() % bits.size()];
        if (i > 0) text += ',';
        const bool quotes = field.find_first_of(",\"\r\n") != field.npos || random() % 2 == 0;
        quoted = quoted || quotes;
        if (!quotes) text += field;
        if (quotes) {
          text += '"';
          for (const char c : field) text.append(c == '"' ? 2 : 1, c);
          text += '"';
        }
        record.push_back(field);
      }
      text += random() % 2 == 0 ? "\n" : "\r\n";
      // A line that is empty is no record.
      if (columns > 1 || !record[0].empty() || quoted) expected.push_back(record);
    }
    for (const std::size_t step : {1, 2, 7, 1000}) {
      std::vector<Record> records;
      for (auto& [line, fields] : Read(text, step)) records.push_back(fields);
      ASSERT_EQ(records, expected) << text;
    }
  }
}

}  // namespace
}  // namespace tidemill
