// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/store_gate.h"
#include "store/store.h"

namespace tidemill {

// Looks at what a store is asked and what it answers, also where the answer is lost afterwards.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;
  virtual void BeforeRun(const Exchange& exchange) = 0;
  virtual void AfterRun(const Exchange& exchange, const ExchangeResult& result) = 0;
  virtual void AfterReap(const Reaped& reaped) = 0;
  // After every call that may have changed something.
  virtual void AfterCall() = 0;
};

// A store that fails as a real one does.
class FaultyStore : public Store {
 public:
  FaultyStore(Store& store, StoreGate& gate, StoreWatch& watch)
      : store_(store), gate_(gate), watch_(watch) {}

  Result<Job> CreateJob(const NewJob& job) override {
    return Call([&] { return store_.CreateJob(job); });
  }
  Result<Job> AddPart(JobId id, const NewPart& part) override {
    return Call([&] { return store_.AddPart(id, part); });
  }
  Result<Job> SealJob(JobId id, std::int32_t parts) override {
    return Call([&] { return store_.SealJob(id, parts); });
  }
  Result<Job> CloseJob(JobId id) override {
    return Call([&] { return store_.CloseJob(id); });
  }
  Result<Job> PauseJob(JobId id, const std::string& reason) override {
    return Call([&] { return store_.PauseJob(id, reason); });
  }
  Result<Job> ResumeJob(JobId id) override {
    return Call([&] { return store_.ResumeJob(id); });
  }
  Result<Job> CancelJob(JobId id) override {
    return Call([&] { return store_.CancelJob(id); });
  }
  Result<void> EndTrial(JobId id) override {
    return Call([&] { return store_.EndTrial(id); });
  }
  Result<void> PauseTrial(JobId id, const std::string& reason) override {
    return Call([&] { return store_.PauseTrial(id, reason); });
  }
  Result<void> RaiseMemory(JobId id, std::int64_t bytes) override {
    return Call([&] { return store_.RaiseMemory(id, bytes); });
  }
  Result<std::string> PinImage(JobId id, const std::string& digest) override {
    return Call([&] { return store_.PinImage(id, digest); });
  }
  Result<Reopened> ReopenJob(JobId id, const ReopenWhich& which) override {
    return Call([&] { return store_.ReopenJob(id, which); });
  }
  Result<Swept> SweepJob(JobId id) override {
    return Call([&] { return store_.SweepJob(id); });
  }
  Result<std::int64_t> DropStale(Duration age) override {
    return Call([&] { return store_.DropStale(age); });
  }
  Result<Session> Join(const NewSession& session) override {
    return Call([&] { return store_.Join(session); });
  }
  Result<Session> CheckPass(const SessionPass& pass, Duration token_life,
                            std::optional<JobId> job) override {
    return gate_.Call([&] { return store_.CheckPass(pass, token_life, job); });
  }
  Result<void> Drain(SessionId id, const std::string& project) override {
    return Call([&] { return store_.Drain(id, project); });
  }
  Result<void> PutAside(SessionId id, const std::string& reason) override {
    return Call([&] { return store_.PutAside(id, reason); });
  }
  Result<std::vector<Record>> ListRecords() override {
    return gate_.Call([&] { return store_.ListRecords(); });
  }
  Result<ExchangeResult> Run(const Exchange& exchange) override {
    return Call([&] {
      watch_.BeforeRun(exchange);
      Result<ExchangeResult> result = store_.Run(exchange);
      if (result) watch_.AfterRun(exchange, *result);
      return result;
    });
  }
  Result<Reaped> Reap(int limit) override {
    return Call([&] {
      Result<Reaped> reaped = store_.Reap(limit);
      if (reaped) watch_.AfterReap(*reaped);
      return reaped;
    });
  }
  Result<Job> FindJob(JobId id) override {
    return gate_.Call([&] { return store_.FindJob(id); });
  }
  Result<JobCounts> CountItems(JobId id) override {
    return gate_.Call([&] { return store_.CountItems(id); });
  }
  Result<std::vector<JobCounts>> CountJobs(const std::vector<JobId>& ids) override {
    return gate_.Call([&] { return store_.CountJobs(ids); });
  }
  Result<std::vector<Job>> ListJobs(const JobFilter& filter) override {
    return gate_.Call([&] { return store_.ListJobs(filter); });
  }
  Result<std::vector<RunnableJob>> ListRunnable(int limit) override {
    return gate_.Call([&] { return store_.ListRunnable(limit); });
  }
  Result<std::vector<JobId>> ListSweepable(int limit) override {
    return gate_.Call([&] { return store_.ListSweepable(limit); });
  }
  Result<std::vector<Chunk>> ListChunks(JobId id, const ChunkFilter& filter) override {
    return gate_.Call([&] { return store_.ListChunks(id, filter); });
  }
  Result<ChunkItems> FindItems(ChunkKey key) override {
    return gate_.Call([&] { return store_.FindItems(key); });
  }
  Result<std::vector<ChunkStat>> ListStats(JobId id, std::int32_t from, int limit) override {
    return gate_.Call([&] { return store_.ListStats(id, from, limit); });
  }
  Result<std::vector<Report>> ListReports(ChunkKey key) override {
    return gate_.Call([&] { return store_.ListReports(key); });
  }
  Result<ChunkHistory> FindHistory(ChunkKey key) override {
    return gate_.Call([&] { return store_.FindHistory(key); });
  }
  Result<OpenReports> ListOpenReports(JobId id, int limit) override {
    return gate_.Call([&] { return store_.ListOpenReports(id, limit); });
  }
  Result<std::vector<ListedMachine>> ListMachines(const MachineFilter& filter) override {
    return gate_.Call([&] { return store_.ListMachines(filter); });
  }
  Result<RolledUp> RollUp(int limit, const RollUpMaker& make) override {
    return Call([&] { return store_.RollUp(limit, make); });
  }
  Result<ChangeMark> ReadChange() override {
    return gate_.Call([&] { return store_.ReadChange(); });
  }
  Result<void> Announce() override {
    return Call([&] { return store_.Announce(); });
  }
  Result<std::vector<SessionId>> Follow(JobId id, Duration time) override {
    return Call([&] { return store_.Follow(id, time); });
  }
  Result<SessionId> AskStream(const NewStream& stream) override {
    return Call([&] { return store_.AskStream(stream); });
  }
  Result<void> EndStream(StreamId id) override {
    return Call([&] { return store_.EndStream(id); });
  }
  Result<StoreState> Dump(std::optional<JobId> only, Bodies bodies) override {
    return gate_.Call([&] { return store_.Dump(only, bodies); });
  }

 private:
  template <typename Work>
  auto Call(Work work) -> decltype(work()) {
    return gate_.Call([this, &work] {
      auto result = work();
      watch_.AfterCall();
      return result;
    });
  }

  Store& store_;
  StoreGate& gate_;
  StoreWatch& watch_;
};

}  // namespace tidemill
