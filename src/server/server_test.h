// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "report/block.h"
#include "server/server.h"
#include "store/check.h"
#include "store/memory/memory_store.h"

// A server on a virtual clock and a store in memory.
namespace tidemill {

inline constexpr std::int64_t kOneGiB = std::int64_t{1} << 30;

// A store that cannot stand the syncs of some sessions.
class TouchyStore : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  Result<ExchangeResult> Run(const Exchange& exchange) override {
    ++runs;
    if (away) return Fail(Code::kUnavailable, "away");
    for (const SyncOrder& order : exchange.syncs) {
      if (poison.contains(order.session)) return Fail(Code::kInternal, "a broken rule");
    }
    return MemoryStore::Run(exchange);
  }
  Result<std::vector<JobCounts>> CountJobs(const std::vector<JobId>& ids) override {
    counted += static_cast<int>(ids.size());
    return MemoryStore::CountJobs(ids);
  }
  Result<OpenReports> ListOpenReports(JobId id, int limit) override {
    return open_reports ? *open_reports : MemoryStore::ListOpenReports(id, limit);
  }
  Result<std::vector<RunnableJob>> ListRunnable(int limit) override {
    auto jobs = MemoryStore::ListRunnable(limit);
    if (!jobs) return jobs;
    for (RunnableJob& job : *jobs) {
      job.trial = trial;
      job.memory_max = memory_max;
    }
    return jobs;
  }
  Result<void> EndTrial(JobId) override {
    ++trials_ended;
    if (away) return Fail(Code::kUnavailable, "away");
    trial = 0;
    return {};
  }
  Result<void> PauseTrial(JobId id, const std::string& reason) override {
    TIDEMILL_TRY_VOID(PauseJob(id, reason));
    return {};
  }
  Result<void> RaiseMemory(JobId, std::int64_t bytes) override {
    raised.push_back(bytes);
    return {};
  }
  Result<std::vector<tidemill::Record>> ListRecords() override { return records; }
  Result<void> PutAside(SessionId id, const std::string& reason) override {
    aside[id] = reason;
    for (tidemill::Record& record : records) record.aside = record.aside || record.session == id;
    return {};
  }
  int trial = 0;                // of all jobs
  std::int64_t memory_max = 0;  // of all jobs
  int trials_ended = 0;
  std::vector<std::int64_t> raised;
  std::vector<tidemill::Record> records;
  std::map<SessionId, std::string> aside;
  std::optional<OpenReports> open_reports;  // as they were before a roll-up
  int counted = 0;
  std::set<SessionId> poison;
  bool away = false;
  int runs = 0;
};

class ErrorLog : public Log {
 public:
  std::vector<std::string> errors;
  std::vector<std::string> warnings;

 protected:
  void Write(std::string_view level, std::string_view event, Fields) override {
    if (level == "error") errors.emplace_back(event);
    if (level == "warn") warnings.emplace_back(event);
  }
};

class ServerTest : public ::testing::Test {
 protected:
  static constexpr const char* kJoinToken = "join token";

  ServerTest() {
    NewToken token;
    token.id = {1, 1};
    token.kind = TokenKind::kJoin;
    token.secret = kJoinToken;
    token.project = kDefaultProject;
    token.pool = kDefaultPool;
    token.life = std::chrono::hours(1000);
    EXPECT_TRUE(store_.CreateToken(token));
    server_.Start();
  }
  ~ServerTest() override {
    const Result<std::vector<Breach>> breaches = CheckStore(store_);
    EXPECT_TRUE(breaches && breaches->empty());
  }

  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  // The answer to a call, once it has come.
  template <typename T, typename Call>
  Result<T> Await(Call call) {
    std::optional<Result<T>> answer;
    call([&answer](Result<T> result) { answer.emplace(std::move(result)); });
    for (int i = 0; i < 100'000 && !answer; ++i) loop_.Step();
    return answer ? *answer : Result<T>(Fail(Code::kInternal, "no answer came"));
  }

  NewJob JobOf(Resources resources, int retries) {
    NewJob job;
    job.project = "default";
    job.key = "key-" + std::to_string(++keys_);
    job.spec.name = "job";
    job.spec.resources = std::move(resources);
    job.spec.retries = retries;
    job.spec.canary = 0;
    job.spec.document = "{}";
    return job;
  }

  JobId SubmitRange(std::int64_t items, int retries = 0, Resources resources = {}) {
    const NewJob job = JobOf(std::move(resources), retries);
    const Result<Job> created =
        Await<Job>([&](Reply<Job> reply) { server_.jobs().Create(job, std::move(reply)); });
    const JobId id = created->id;
    EXPECT_TRUE(Await<Job>([&](Reply<Job> reply) {
      server_.jobs().AddPart(id, {.number = 0, .text = {}, .range_items = items}, std::move(reply));
    }));
    EXPECT_TRUE(
        Await<Job>([&](Reply<Job> reply) { server_.jobs().Seal(id, 1, std::move(reply)); }));
    RunFor(std::chrono::milliseconds(500));
    return id;
  }

  // A draft in which each item has a chunk of its own.
  JobId SubmitLines(int items) {
    const JobId id = store_.CreateJob(JobOf({}, 0))->id;
    NewPart part{.number = 0, .digest = "d", .chunks = {}, .range_items = 0};
    for (int i = 0; i < items; ++i) part.chunks.push_back({1, {}});
    EXPECT_TRUE(store_.AddPart(id, part));
    return id;
  }

  SessionId Join() {
    const SessionId id = random_.NewId<SessionId>();
    const Result<tidemill::Joined> joined =
        Await<tidemill::Joined>([&](Reply<tidemill::Joined> reply) {
          server_.Join({id, "machine " + ToString(id), "key", kJoinToken, {4000, 0}},
                       std::move(reply));
        });
    EXPECT_TRUE(joined) << joined.error().reason;
    if (joined) tokens_[id] = joined->token;
    return id;
  }
  SessionPass PassOf(SessionId session) { return {session, tokens_[session]}; }

  SyncRequest SyncOf(SessionId session) {
    SyncRequest request;
    request.session = session;
    request.token = tokens_[session];
    request.free = {4000, 0};
    return request;
  }

  Result<SyncResult> Sync(const SyncRequest& request) {
    return Await<SyncResult>(
        [&](Reply<SyncResult> reply) { server_.Sync(request, std::move(reply)); });
  }

  // Settles all of a lease as succeeded, with its rows.
  static Settlement Succeed(const Grant& grant) {
    Settlement settlement;
    settlement.lease = grant.lease.id;
    std::vector<Outcome> outcomes;
    for (const int offset : grant.lease.mine.Indexes()) {
      settlement.ok.Set(offset);
      Outcome& outcome = outcomes.emplace_back();
      outcome.item = grant.first_item + offset;
      outcome.duration_ms = 100;
    }
    settlement.body = EncodeBlock(outcomes);
    return settlement;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  TouchyStore store_{[this] { return loop_.Now().time_since_epoch().count(); }};
  ErrorLog log_;
  Server server_{{loop_, worker_, worker_, store_, store_, random_, log_}, ServerLimits{}};
  std::map<SessionId, std::string> tokens_;
  int keys_ = 0;
};

}  // namespace tidemill
