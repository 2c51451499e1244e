// SPDX-License-Identifier: Apache-2.0
#include "cli/row_file.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace tidemill::cli {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

OutcomeRow FullRow() {
  OutcomeRow row;
  row.outcome = {.item = 17,
                 .cause = Cause::kFailed,
                 .exit = 3,
                 .start_ms = 1'700'000'000'123,
                 .duration_ms = 4200,
                 .machine = "i-1",
                 .error = "no '...', \"x\"",
                 .result = "{\"a\":1}",
                 .devices = "a.b/c=0,1"};
  row.text = "a,b";
  row.last = true;
  return row;
}

class RowFileTest : public ::testing::Test {
 protected:
  std::string Name(const std::string& end) { return testing::TempDir() + "rows" + end; }

  std::string Written(const std::string& end) {
    auto file = RowFile::Open(Name(end));
    EXPECT_TRUE(file);
    EXPECT_TRUE(file->Add(FullRow()));
    EXPECT_TRUE(file->Add(FullRow()));
    EXPECT_FALSE(std::filesystem::exists(Name(end)));
    EXPECT_TRUE(file->Finish());
    EXPECT_EQ(file->rows(), 2);
    EXPECT_FALSE(std::filesystem::exists(Name(end) + ".part"));
    const std::string text = ReadAll(Name(end));
    std::filesystem::remove(Name(end));
    return text;
  }
};

TEST_F(RowFileTest, WritesCsvAsItIsDefined) {
  const std::string row =
      "17,\"a,b\",0,1,true,failed,3,2023-11-14T22:13:20.123Z,4200,0,0,i-1,,"
      "\"no '...', \"\"x\"\"\",\"{\"\"a\"\":1}\",\"a.b/c=0,1\"\n";
  EXPECT_EQ(Written(".csv"), CsvHead() + row + row);
}

TEST(AppendCsvRow, NoCellIsAFormula) {
  const struct {
    const char* result;
    const char* cell;
  } cases[] = {{"=1+1", "'=1+1"},
               {"@SUM(A1)", "'@SUM(A1)"},
               {"-x", "'-x"},
               {"+x,y", "\"'+x,y\""},
               {"-1.5e-3", "-1.5e-3"},
               {"+3", "+3"},
               {"-", "'-"},
               {"a=b", "a=b"}};
  for (const auto& [result, cell] : cases) {
    OutcomeRow row = FullRow();
    row.outcome.result = result;
    row.outcome.devices.clear();
    std::string line;
    AppendCsvRow(line, row);
    EXPECT_TRUE(line.ends_with(std::string(",") + cell + ",\n")) << line;
  }
}

TEST_F(RowFileTest, WritesTheSameLinesPackedOrNot) {
  const std::string lines = Written(".jsonl");
  EXPECT_TRUE(lines.starts_with("{\"item\":17,\"text\":\"a,b\","));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_EQ(lines.size() % 2, 0u);
  const std::string packed = Written(".jsonl.zst");
  EXPECT_EQ(packed.substr(0, 4), "\x28\xb5\x2f\xfd");
}

TEST_F(RowFileTest, LeavesNothingThatIsNotWhole) {
  {
    auto file = RowFile::Open(Name(".csv"));
    ASSERT_TRUE(file && file->Add(FullRow()));
    EXPECT_TRUE(std::filesystem::exists(Name(".csv.part")));
  }
  EXPECT_FALSE(std::filesystem::exists(Name(".csv.part")));
  EXPECT_FALSE(std::filesystem::exists(Name(".csv")));
}

TEST_F(RowFileTest, RefusesNamesThatSayNothing) {
  EXPECT_EQ(RowFile::Open("x.parquet").error().code, Code::kInvalid);
  EXPECT_EQ(RowFile::Open("/nowhere/x.csv").error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace tidemill::cli
