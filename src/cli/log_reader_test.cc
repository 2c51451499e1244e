// SPDX-License-Identifier: Apache-2.0
#include "cli/log_reader.h"

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/logs.h"

namespace tidemill::cli {
namespace {

class LogReaderTest : public testing::Test {
 protected:
  LogReaderTest() : folder_(std::filesystem::path(testing::TempDir()) / "tidemill_log_reader") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~LogReaderTest() override { std::filesystem::remove_all(folder_); }

  static std::string Piece(std::int64_t item, std::int32_t attempt, const std::string& bytes,
                           std::uint32_t flags = 0) {
    std::string out(kLogPieceHeadBytes, '\0');
    const auto put = [&](std::size_t at, auto value) {
      std::memcpy(out.data() + at, &value, sizeof value);
    };
    put(0, std::uint32_t{0x676f6c74});
    put(4, static_cast<std::uint32_t>(bytes.size()));
    put(8, item);
    put(16, std::int32_t{2});
    put(20, attempt);
    put(24, std::int64_t{1234});
    put(32, flags);
    return out + bytes;
  }

  void Append(const std::string& pack, const std::string& bytes) {
    std::ofstream(folder_ / pack, std::ios::binary | std::ios::app) << bytes;
  }

  std::string Read(LogReader& reader, std::int64_t item) {
    std::string text;
    const auto read = reader.ReadNew(item, [&](const LogPiece& piece) {
      text += std::to_string(piece.attempt) + ":" + piece.bytes + (piece.last ? "$" : "") +
              (piece.has_hole ? "!" : "") + " ";
    });
    return read ? text : read.error().reason;
  }

  const std::filesystem::path folder_;
};

TEST_F(LogReaderTest, FindsTheItemsPiecesInAllPacks) {
  Append("000000.pack", Piece(1, 1, "one") + Piece(2, 1, "other") + Piece(1, 1, "", 1));
  Append("000001.pack", Piece(1, 2, "again", 2));
  LogReader reader(folder_);
  EXPECT_EQ(Read(reader, 1), "1:one 1:$ 2:again! ");
  EXPECT_EQ(Read(reader, 1), "");
}

TEST_F(LogReaderTest, ReadsATornPieceWhenItIsWhole) {
  const std::string piece = Piece(1, 1, "hello");
  Append("000000.pack", Piece(1, 1, "a") + piece.substr(0, 20));
  LogReader reader(folder_);
  EXPECT_EQ(Read(reader, 1), "1:a ");
  Append("000000.pack", piece.substr(20, 22));
  EXPECT_EQ(Read(reader, 1), "");
  Append("000000.pack", piece.substr(42));
  EXPECT_EQ(Read(reader, 1), "1:hello ");
}

TEST_F(LogReaderTest, GoesOnWithTheNextPackAfterATornTail) {
  Append("000000.pack", Piece(1, 1, "lost").substr(0, 41));
  Append("000001.pack", Piece(1, 2, "kept"));
  LogReader reader(folder_);
  EXPECT_EQ(Read(reader, 1), "2:kept ");
}

TEST_F(LogReaderTest, SaysWhereAPackIsDamaged) {
  Append("000000.pack", Piece(1, 1, "a") + std::string(50, 'x'));
  LogReader reader(folder_);
  EXPECT_NE(Read(reader, 1).find("000000.pack: damaged at byte 41"), std::string::npos);
}

TEST_F(LogReaderTest, SaysThatThereIsNoFolder) {
  LogReader reader(folder_ / "7");
  const auto read = reader.ReadNew(1, [](const LogPiece&) {});
  ASSERT_TRUE(read);
  EXPECT_FALSE(*read);
}

TEST(LineTail, KeepsTheLastLinesHoweverTheyCome) {
  LineTail tail(2);
  tail.Add("one\ntw");
  tail.Add("o\nthr");
  tail.Add("ee\n");
  EXPECT_EQ(tail.Text(), "two\nthree\n");
  tail.Add("fo");
  tail.Add("ur");
  EXPECT_EQ(tail.Text(), "three\nfour");
}

}  // namespace
}  // namespace tidemill::cli
