// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/log_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

struct Piece {
  std::int64_t item = 0;
  std::int32_t round = 0;
  std::int32_t attempt = 0;
  std::int64_t time_ms = 0;
  std::uint32_t flags = 0;
  std::string bytes;
};

template <typename Number>
Number Take(const std::string& text, std::size_t at) {
  Number number;
  std::memcpy(&number, text.data() + at, sizeof number);
  return number;
}

std::vector<Piece> ReadPieces(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < text.size();) {
    EXPECT_EQ(text.substr(at, 4), "tlog");
    const auto length = Take<std::uint32_t>(text, at + 4);
    pieces.push_back({Take<std::int64_t>(text, at + 8), Take<std::int32_t>(text, at + 16),
                      Take<std::int32_t>(text, at + 20), Take<std::int64_t>(text, at + 24),
                      Take<std::uint32_t>(text, at + 32), text.substr(at + 40, length)});
    at += 40 + length;
  }
  return pieces;
}

class LogFilesTest : public ::testing::Test {
 protected:
  LogFilesTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-logs-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~LogFilesTest() override { fs::remove_all(folder_); }

  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  fs::path folder_;
  LogLimits limits_;
};

TEST_F(LogFilesTest, KeepsWhatEachAttemptWroteInOrder) {
  LogFiles logs(loop_, worker_, folder_, [] { return 1234; });
  const LogPlace first{{7}, 3, 0, 1};
  const LogPlace second{{7}, 4, 1, 2};
  logs.Append(first, "one\n");
  logs.Append(second, "other\n");
  logs.Append(first, "two\n");
  logs.Close(first);
  RunFor(std::chrono::seconds(1));
  const auto pieces = ReadPieces(folder_ / "7" / "000000.pack");
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].bytes + pieces[2].bytes, "one\ntwo\n");
  EXPECT_EQ(pieces[1].item, 4);
  EXPECT_EQ(pieces[1].round, 1);
  EXPECT_EQ(pieces[1].attempt, 2);
  EXPECT_EQ(pieces[1].time_ms, 1234);
  EXPECT_EQ(pieces[3].flags, kLogPieceLast);
}

TEST_F(LogFilesTest, IsForItsOwnerAloneWhateverTheUmask) {
  LogFiles logs(loop_, worker_, folder_ / "logs", [] { return 0; });
  const mode_t before = umask(0);
  logs.Append({{7}, 3, 0, 1}, "text");
  RunFor(std::chrono::seconds(1));
  umask(before);
  const auto mode = [this](const char* path) { return fs::status(folder_ / path).permissions(); };
  EXPECT_EQ(mode("logs"), fs::perms::owner_all);
  EXPECT_EQ(mode("logs/7"), fs::perms::owner_all);
  EXPECT_EQ(mode("logs/7/000000.pack"), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(LogFilesTest, AnAttemptThatWroteNothingLeavesNoTrace) {
  LogFiles logs(loop_, worker_, folder_, [] { return 0; });
  logs.Close({{7}, 3, 0, 1});
  RunFor(std::chrono::seconds(1));
  EXPECT_FALSE(fs::exists(folder_ / "7"));
}

TEST_F(LogFilesTest, CutsAnAttemptThatWritesTooMuchAndSaysSo) {
  limits_.attempt_bytes = 10;
  LogFiles logs(loop_, worker_, folder_, [] { return 0; }, limits_);
  const LogPlace place{{7}, 3, 0, 1};
  logs.Append(place, "12345678");
  logs.Append(place, "abcdefgh");
  logs.Append(place, "more");
  logs.Close(place);
  RunFor(std::chrono::seconds(1));
  const auto pieces = ReadPieces(folder_ / "7" / "000000.pack");
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[1].bytes, "ab");
  EXPECT_EQ(pieces[2].flags, kLogPieceLast | kLogPieceHole);
}

TEST_F(LogFilesTest, LeavesOutWhatASlowDiskDoesNotTake) {
  limits_.pending_bytes = 1000;
  LogFiles logs(loop_, worker_, folder_, [] { return 0; }, limits_);
  for (int i = 0; i < 100; ++i) logs.Append({{7}, 3, 0, 1}, std::string(100, 'x'));
  RunFor(std::chrono::seconds(1));
  logs.Append({{7}, 3, 0, 1}, "after");
  RunFor(std::chrono::seconds(1));
  const auto pieces = ReadPieces(folder_ / "7" / "000000.pack");
  ASSERT_GT(pieces.size(), 2U);
  EXPECT_LT(pieces.size(), 12U);
  EXPECT_EQ(pieces.back().bytes, "after");
  EXPECT_EQ(pieces.back().flags, kLogPieceHole);
}

TEST_F(LogFilesTest, BeginsAnotherPackWhenOneIsFullAndDropsTheOldest) {
  limits_.pack_bytes = 1000;
  limits_.folder_bytes = 8000;
  LogFiles logs(loop_, worker_, folder_, [] { return 0; }, limits_);
  for (int i = 0; i < 40; ++i) {
    logs.Append({{7}, i, 0, 1}, std::string(960, 'x'));
    RunFor(std::chrono::seconds(1));
  }
  EXPECT_FALSE(fs::exists(folder_ / "7" / "000000.pack"));
  EXPECT_TRUE(fs::exists(folder_ / "7" / "000039.pack"));
  std::size_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  EXPECT_LE(total, 9000U);
}

TEST_F(LogFilesTest, WritesToANewPackAfterARestart) {
  for (int i = 0; i < 2; ++i) {
    LogFiles logs(loop_, worker_, folder_, [] { return 0; });
    logs.Append({{7}, i, 0, 1}, "text");
    RunFor(std::chrono::seconds(1));
  }
  EXPECT_EQ(ReadPieces(folder_ / "7" / "000001.pack").at(0).item, 1);
}

TEST_F(LogFilesTest, FlushWritesWhatIsPending) {
  LogFiles logs(loop_, worker_, folder_, [] { return 0; });
  logs.Append({{7}, 0, 0, 1}, "text");
  bool flushed = false;
  logs.Flush([&flushed] { flushed = true; });
  while (!flushed) ASSERT_TRUE(loop_.Step());
  EXPECT_EQ(ReadPieces(folder_ / "7" / "000000.pack").size(), 1U);
}

}  // namespace
}  // namespace tidemill
