// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/random.h"
#include "cloud/world.h"
#include "net/thread_pool.h"
#include "report/block.h"
#include "report/roll_up.h"
#include "server/ledger/batch.h"
#include "server/ledger/writer.h"
#include "server/outcomes.h"
#include "store/memory/memory_store.h"
#include "store/store_testing.h"
#include "submit/cut.h"
#include "wire/job_json.h"
#include "wire/outcome_json.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

class SilentLog : public Log {
 public:
  int warnings = 0;

 protected:
  void Write(std::string_view level, std::string_view, Fields) override {
    if (level == "warn") ++warnings;
  }
};

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : folder_(fs::path(testing::TempDir()) / "ledger") { fs::remove_all(folder_); }
  ~LedgerTest() override { fs::remove_all(folder_); }

  std::string Url() const { return "file://" + folder_.string(); }

  // A job of two chunks, whose second item fails.
  JobId RunJob() {
    NewJob job;
    job.project = "films";
    job.key = "k";
    job.spec.name = "render";
    job.spec.document = "{\"name\":\"render\"}";
    const JobId id = Must(store_.CreateJob(job)).id;
    for (int part = 0; part < 2; ++part) {
      const CutPart cut = CutLines(part == 0 ? "a\nb\n" : "c\n").value();
      NewPart made{.number = part, .digest = std::to_string(part), .chunks = {}};
      for (const CutChunk& chunk : cut.chunks) made.chunks.push_back({chunk.length, chunk.body});
      Must(store_.AddPart(id, made));
    }
    Must(store_.SealJob(id, 2));
    return id;
  }

  void RollUp() {
    Must(store_.RollUp(10, [](const Chunk& chunk, const std::vector<Report>& reports) {
      RolledReports rolled = tidemill::RollUp(chunk.first_item, ToRoll(reports));
      return RollUpText{rolled.block, rolled.summary};
    }));
  }

  std::set<std::string> Files() const {
    std::set<std::string> names;
    if (!fs::exists(folder_)) return names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), folder_).string());
    }
    return names;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::string Unpacked(const std::string& name) const {
    return Decompress(Read(name), 1 << 20).value();
  }

  // Until nothing is due any more, or for some seconds.
  void WriteAll(const std::string& url) {
    AsioLoop loop;
    ThreadPool pool(loop, 1);
    const CloudWorld world;
    ObjectStores objects({loop, pool, random_, world});
    LedgerWriter writer({loop, pool, pool, store_, store_, random_, log_}, store_, objects,
                        {.objects = url, .every = std::chrono::milliseconds(5)});
    writer.Start();
    int quiet = 0;
    std::function<void()> look = [&] {
      const bool due =
          !Must(store_.ListLedgerStats(1)).empty() || !Must(store_.ListLedgerJobs({0}, 1)).empty();
      if (!due || log_.warnings > 0 || ++quiet > 1000) {
        writer.Stop();
        return loop.Stop();
      }
      loop.After(std::chrono::milliseconds(5), look);
    };
    loop.After(std::chrono::milliseconds(5), look);
    loop.Run();
  }

  const fs::path folder_;
  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore store_{[this] { return now_us_; }};
  SystemRandom random_;
  SilentLog log_;
};

const std::string kPlace = "jobs/films/render-1/ledger/";

TEST_F(LedgerTest, WritesItemsAndStateAsAJobGoes) {
  const JobId job = RunJob();
  WriteAll(Url());
  EXPECT_EQ(Files(), (std::set<std::string>{kPlace + "spec.json", kPlace + "job.json",
                                            kPlace + "items/00000000.jsonl.zst",
                                            kPlace + "items/00000001.jsonl.zst"}));
  EXPECT_EQ(Read(kPlace + "spec.json"), "{\"name\":\"render\"}");
  EXPECT_EQ(Unpacked(kPlace + "items/00000000.jsonl.zst"),
            "{\"item\":0,\"text\":\"a\"}\n{\"item\":1,\"text\":\"b\"}\n");
  EXPECT_EQ(ParseJobCounts(Read(kPlace + "job.json"))->job.state, JobState::kActive);
  EXPECT_EQ(Must(store_.ListLedgerJobs({0}, 9)).size(), 0u);
  (void)job;
}

TEST_F(LedgerTest, WhatCannotBePutIsNotMarkedAndComesLater) {
  RunJob();
  WriteAll("file:///proc/no-such-place");
  EXPECT_GT(log_.warnings, 0);
  EXPECT_EQ(Must(store_.ListLedgerJobs({0}, 9)).size(), 1u);
  EXPECT_EQ(Must(store_.ListLedgerJobs({0}, 9))[0].chunks_written, 0);
  log_.warnings = 0;
  WriteAll(Url());
  EXPECT_EQ(Files().size(), 4u);
}

// The same state gives the same bytes, so two servers, or one that crashed before it could mark
// what it had put, do no harm.
TEST_F(LedgerTest, TheSameAgainIsTheSameBytes) {
  RunJob();
  const LedgerBatch once = Must(MakeLedgerBatch(store_, store_, Url(), {0}));
  const LedgerBatch again = Must(MakeLedgerBatch(store_, store_, Url(), {0}));
  ASSERT_EQ(once.tasks.size(), 1u);
  ASSERT_EQ(again.tasks.size(), 1u);
  ASSERT_EQ(once.tasks[0].files.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(once.tasks[0].files[i].url, again.tasks[0].files[i].url);
    EXPECT_EQ(once.tasks[0].files[i].bytes, again.tasks[0].files[i].bytes);
  }
}

}  // namespace
}  // namespace tidemill
