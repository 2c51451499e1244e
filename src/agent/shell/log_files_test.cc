// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/log_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Piece {
  LogAttempt who;
  LogPart part;
  std::string bytes;
};

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

std::vector<Piece> ReadPieces(const fs::path& path) {
  const std::string text = ReadFile(path);
  const auto spool = ReadSpool(text);
  EXPECT_TRUE(spool) << path;
  std::vector<Piece> pieces;
  if (!spool) return pieces;
  for (const SpoolPiece& one : spool->pieces) {
    pieces.push_back({one.who, one.part, std::string(one.bytes)});
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

  std::unique_ptr<LogFiles> Make(int run = 0) {
    auto put = [this](const std::string& url, std::string body,
                      const std::function<void(Result<void>)>& done) {
      loop_.After(put_takes_, [this, url, body = std::move(body), done] {
        if (!store_is_up_) return done(Fail(Code::kUnavailable, "away"));
        EXPECT_TRUE(stored_.emplace(url, body).second || stored_[url] == body) << url;
        done({});
      });
    };
    auto logs = std::make_unique<LogFiles>(
        LogFiles::Deps{loop_, worker_, log_, [this] { return clock_ms_; }, put},
        (folder_ / "logs").string(), run, limits_);
    logs->Start();
    logs->UseSession("session", run == 0);
    return logs;
  }
  fs::path FileOf(const char* name) const { return folder_ / "logs" / "7" / name; }
  std::size_t FilesLeft() const {
    std::size_t count = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder_ / "logs", error), end; it != end; ++it) {
      if (it->is_regular_file()) ++count;
    }
    return count;
  }

  // What is stored of an attempt, over all packs, in the order of their names; holes as <n>.
  std::string Stored(const LogAttempt& who) const {
    std::string text;
    for (const auto& [url, pack] : stored_) {
      const std::string_view all = pack;
      const auto end = ReadPackEnd(all.substr(all.size() - kPackEndBytes));
      const auto table = ReadPackTable(
          *end, all.substr(all.size() - kPackEndBytes - end->table_bytes, end->table_bytes),
          all.size());
      for (const PackFrame& frame : table->frames) {
        const auto read = ReadLogFrame(all.substr(frame.offset, frame.bytes));
        for (const LogFrame::Group& group : read->groups) {
          if (group.who == who) text += TextOf(*read, group);
        }
      }
    }
    return text;
  }
  static std::string TextOf(const LogFrame& frame, const LogFrame::Group& group) {
    std::string text;
    std::size_t at = 0;
    for (std::size_t i = 0; i < group.parts; ++i) {
      const LogPart& part = frame.parts[group.first_part + i];
      if ((part.flags & LogPart::kBegins) != 0) text += "^";
      if ((part.flags & LogPart::kResumed) != 0) text += "~";
      if ((part.flags & LogPart::kHole) != 0) text += "<" + std::to_string(part.missing) + ">";
      text += frame.TextOf(group).substr(at, part.size);
      at += part.size;
      if ((part.flags & LogPart::kLast) != 0) text += "$";
    }
    return text;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  NullLog log_;
  fs::path folder_;
  LogLimits limits_;
  std::int64_t clock_ms_ = 1234;
  bool store_is_up_ = true;
  Duration put_takes_ = 10ms;
  std::map<std::string, std::string> stored_;
};

constexpr const char* kUrl = "s3://bucket/jobs/p/render-7/logs/";

TEST_F(LogFilesTest, KeepsWhatEachAttemptWroteInOrder) {
  const auto logs = Make();
  const LogPlace first{{7}, 3, 0, 1};
  const LogPlace second{{7}, 4, 1, 2};
  logs->Append(first, "one\n");
  logs->Append(second, "other\n");
  logs->Append(first, "two\n");
  EXPECT_EQ(logs->Close(first), "");  // in no store
  RunFor(1s);
  const auto pieces = ReadPieces(FileOf("000000000001.pack"));
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].bytes + pieces[2].bytes, "one\ntwo\n");
  EXPECT_EQ(pieces[1].who, (LogAttempt{4, 1, 2}));
  EXPECT_EQ(pieces[1].part.time_ms, 1234);
  EXPECT_EQ(pieces[3].part.flags, LogPart::kLast);
  RunFor(60s);
  EXPECT_EQ(FilesLeft(), 1U);
  EXPECT_TRUE(stored_.empty());
}

TEST_F(LogFilesTest, IsForItsOwnerAloneWhateverTheUmask) {
  const auto logs = Make();
  const mode_t before = umask(0);
  logs->Append({{7}, 3, 0, 1}, "text");
  RunFor(1s);
  umask(before);
  const auto mode = [this](const char* path) { return fs::status(folder_ / path).permissions(); };
  EXPECT_EQ(mode("logs"), fs::perms::owner_all);
  EXPECT_EQ(mode("logs/7"), fs::perms::owner_all);
  EXPECT_EQ(mode("logs/7/000000000001.pack"), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(LogFilesTest, AnAttemptThatWroteNothingLeavesNoTrace) {
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  EXPECT_EQ(logs->Close({{7}, 3, 0, 1}), "");
  RunFor(60s);
  EXPECT_FALSE(fs::exists(folder_ / "logs" / "7"));
  EXPECT_TRUE(stored_.empty());
}

TEST_F(LogFilesTest, StoresAPackWhenItIsOldAndSaysBeforeWhichOneItWillBe) {
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  logs->Append({{7}, 3, 0, 1}, "one\n");
  logs->Append({{7}, 4, 0, 1}, "runs on\n");
  EXPECT_EQ(logs->Close({{7}, 3, 0, 1}), "session/000000000001");
  RunFor(29s);
  EXPECT_TRUE(stored_.empty());
  RunFor(2s);
  ASSERT_EQ(stored_.size(), 1U);
  EXPECT_EQ(stored_.begin()->first, std::string(kUrl) + "session/000000000001");
  EXPECT_EQ(Stored({3, 0, 1}), "^one\n$");
  EXPECT_EQ(FilesLeft(), 0U);
  logs->Append({{7}, 4, 0, 1}, "still\n");
  EXPECT_EQ(logs->Close({{7}, 4, 0, 1}), "session/000000000002");
  RunFor(31s);
  EXPECT_EQ(Stored({4, 0, 1}), "^runs on\nstill\n$");
}

TEST_F(LogFilesTest, StoresSoonWhenAllIsOver) {
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  logs->Append({{7}, 3, 0, 1}, "one\n");
  logs->Close({{7}, 3, 0, 1});
  RunFor(3s);
  EXPECT_EQ(Stored({3, 0, 1}), "^one\n$");
}

TEST_F(LogFilesTest, StoresWithinASecondWhileSomebodyFollows) {
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  logs->Append({{7}, 3, 0, 1}, "one\n");
  RunFor(5s);
  EXPECT_TRUE(stored_.empty());
  logs->Follow({{7}});
  RunFor(1s);
  EXPECT_EQ(Stored({3, 0, 1}), "^one\n");
  logs->Append({{7}, 3, 0, 1}, "two\n");
  RunFor(1s);
  EXPECT_EQ(Stored({3, 0, 1}), "^one\ntwo\n");
  logs->Follow({});
  logs->Append({{7}, 3, 0, 1}, "three\n");
  RunFor(5s);
  EXPECT_EQ(Stored({3, 0, 1}), "^one\ntwo\n");
}

TEST_F(LogFilesTest, StoresAPackWhenItIsFull) {
  limits_.pack_bytes = 1000;
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  for (int i = 0; i < 10; ++i) logs->Append({{7}, i, 0, 1}, std::string(960, 'x'));
  RunFor(1s);
  EXPECT_EQ(stored_.size(), 10U);
}

TEST_F(LogFilesTest, TriesAgainUntilTheStoreTakesIt) {
  store_is_up_ = false;
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  logs->Append({{7}, 3, 0, 1}, "one\n");
  logs->Close({{7}, 3, 0, 1});
  RunFor(600s);
  EXPECT_EQ(FilesLeft(), 1U);
  store_is_up_ = true;
  RunFor(61s);
  EXPECT_EQ(Stored({3, 0, 1}), "^one\n$");
  EXPECT_EQ(FilesLeft(), 0U);
}

TEST_F(LogFilesTest, TheNextLifeUploadsWhatWasOnTheDisk) {
  auto logs = Make(1);
  logs->StoreAt({7}, kUrl);
  logs->Append({{7}, 3, 0, 1}, "one\n");
  RunFor(1s);
  logs.reset();  // killed
  {              // in the middle of a write
    std::ofstream file(FileOf("000001000001.pack"), std::ios::app | std::ios::binary);
    file << "tlog\x08";
  }
  logs = Make(2);
  logs->StoreAt({7}, kUrl);
  logs->Resume({{7}, 3, 0, 1});
  logs->Resume({{7}, 4, 0, 1});
  logs->Append({{7}, 3, 0, 1}, "again\n");
  logs->Append({{7}, 3, 0, 1}, "more\n");
  logs->Append({{7}, 5, 0, 1}, "new\n");
  for (int item = 3; item <= 5; ++item) logs->Close({{7}, item, 0, 1});
  RunFor(5s);
  EXPECT_EQ(FilesLeft(), 0U);
  // What was resumed says so, also if it wrote nothing since. Nobody says that anything begins
  // here: there may be more of it in an earlier pack.
  EXPECT_EQ(Stored({3, 0, 1}), "one\n~again\nmore\n$");
  EXPECT_EQ(Stored({4, 0, 1}), "~$");
  EXPECT_EQ(Stored({5, 0, 1}), "new\n$");
  EXPECT_TRUE(stored_.contains(std::string(kUrl) + "session/000001000001"));
  EXPECT_TRUE(stored_.contains(std::string(kUrl) + "session/000002000001"));
}

TEST_F(LogFilesTest, CutsAnAttemptThatWritesTooMuchAndSaysSo) {
  limits_.attempt_bytes = 10;
  const auto logs = Make();
  const LogPlace place{{7}, 3, 0, 1};
  logs->Append(place, "12345678");
  logs->Append(place, "abcdefgh");
  logs->Append(place, "more");
  logs->Close(place);
  RunFor(1s);
  const auto pieces = ReadPieces(FileOf("000000000001.pack"));
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[1].bytes, "ab");
  EXPECT_NE(pieces[2].bytes.find("may have 10 bytes"), std::string::npos);
  EXPECT_EQ(pieces[3].part.flags, LogPart::kLast | LogPart::kHole | LogPart::kLimit);
  EXPECT_EQ(pieces[3].part.missing, 10U);
}

TEST_F(LogFilesTest, MuchIsWrittenAtOnceAndLittleIsGathered) {
  limits_.gather = 10s;
  limits_.gather_bytes = 1000;
  const auto logs = Make();
  logs->Append({{7}, 3, 0, 1}, "little");
  RunFor(5s);
  EXPECT_FALSE(fs::exists(FileOf("000000000001.pack")));
  logs->Append({{7}, 3, 0, 1}, std::string(1000, 'x'));
  RunFor(1s);
  EXPECT_EQ(ReadPieces(FileOf("000000000001.pack")).size(), 2U);
}

TEST_F(LogFilesTest, LeavesOutWhatASlowDiskDoesNotTake) {
  limits_.pending_bytes = 1000;
  const auto logs = Make();
  for (int i = 0; i < 100; ++i) logs->Append({{7}, 3, 0, 1}, std::string(100, 'x'));
  RunFor(1s);
  logs->Append({{7}, 3, 0, 1}, "after");
  RunFor(1s);
  const auto pieces = ReadPieces(FileOf("000000000001.pack"));
  ASSERT_GT(pieces.size(), 2U);
  std::uint64_t all = 0;
  for (const Piece& piece : pieces) all += piece.bytes.size() + piece.part.missing;
  EXPECT_EQ(all, 10'005U);
  EXPECT_EQ(pieces.back().bytes, "after");
  EXPECT_EQ(pieces.back().part.flags, LogPart::kHole);
  EXPECT_GT(pieces.back().part.missing, 8000U);
}

TEST_F(LogFilesTest, WhatTheDiskCannotHoldBecomesHoles) {
  store_is_up_ = false;
  limits_.pack_bytes = 1000;
  limits_.upload.folder_bytes = 8000;
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  for (int i = 0; i < 40; ++i) {
    logs->Append({{7}, i, 0, 1}, std::string(960, 'x'));
    logs->Close({{7}, i, 0, 1});
    RunFor(1s);
  }
  std::size_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "logs")) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  EXPECT_LE(total, 16'000U);
  store_is_up_ = true;
  RunFor(200s);
  EXPECT_EQ(Stored({0, 0, 1}), "^<960>$");
  EXPECT_EQ(Stored({39, 0, 1}), "^" + std::string(960, 'x') + "$");
  EXPECT_EQ(FilesLeft(), 0U);
}

TEST_F(LogFilesTest, FilesThatStayAreDroppedOldestFirst) {
  limits_.pack_bytes = 1000;
  limits_.upload.folder_bytes = 8000;
  const auto logs = Make();
  for (int i = 0; i < 40; ++i) {
    logs->Append({{7}, i, 0, 1}, std::string(960, 'x'));
    RunFor(1s);
  }
  EXPECT_FALSE(fs::exists(FileOf("000000000001.pack")));
  EXPECT_TRUE(fs::exists(FileOf("000000000040.pack")));
  EXPECT_LE(FilesLeft(), 9U);
}

TEST_F(LogFilesTest, FlushWritesWhatIsPending) {
  const auto logs = Make();
  logs->Append({{7}, 0, 0, 1}, "text");
  bool flushed = false;
  logs->Flush([&flushed] { flushed = true; });
  while (!flushed) ASSERT_TRUE(loop_.Step());
  EXPECT_EQ(ReadPieces(FileOf("000000000001.pack")).size(), 1U);
}

TEST_F(LogFilesTest, WhoLeavesUploadsAllBefore) {
  const auto logs = Make();
  logs->StoreAt({7}, kUrl);
  logs->Append({{7}, 0, 0, 1}, "text");
  bool done = false;
  logs->FlushAndUpload([&done] { done = true; });
  while (!done) ASSERT_TRUE(loop_.Step());
  EXPECT_EQ(Stored({0, 0, 1}), "^text");
  EXPECT_EQ(FilesLeft(), 0U);
}

}  // namespace
}  // namespace tidemill
