// SPDX-License-Identifier: Apache-2.0
// Measures the store alone: agents that settle their whole lease and ask for the next, in batches,
// as a server would send them. No HTTP, no server.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/limits.h"
#include "base/random.h"
#include "store/postgres/postgres_store.h"

namespace tidemill {
namespace {

constexpr const char* kToken = "token";

using std::chrono::steady_clock;

struct Flags {
  std::string database;
  int agents = 1000;
  int lease_items = 40;
  int batch = 100;
  int connections = 2;
  int seconds = 10;
  int outcome_bytes = 40;
  bool json = false;
};

struct Measured {
  std::int64_t outcomes = 0;
  std::int64_t leases = 0;
  std::int64_t transactions = 0;
  std::int64_t empty_syncs = 0;        // asked and got nothing
  std::vector<double> transaction_ms;  // each
  std::optional<Error> error;
};

struct Agent {
  SessionId session;
  std::optional<Lease> lease;
};

// Bytes that do not compress, as packed outcomes do not.
class Bodies {
 public:
  explicit Bodies(Random& random) {
    for (int i = 0; i < 1 << 17; ++i) {
      const std::uint64_t word = random.Next();
      bytes_.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
  }
  std::string Take(Random& random, std::size_t size) const {
    return bytes_.substr(random.Below(bytes_.size() - size), size);
  }

 private:
  std::string bytes_;
};

Result<JobId> MakeJob(Store& store, Random& random, const Flags& flags) {
  NewJob job;
  job.project = "default";
  job.key = FormatUuid(random.Next(), random.Next());
  job.spec.name = "bench";
  TIDEMILL_TRY(const Job made, store.CreateJob(job));
  // More than any machine of today settles in that time.
  const std::int64_t items = std::int64_t{2'500'000} * flags.seconds;
  std::int32_t parts = 0;
  for (std::int64_t left = items; left > 0; left -= limits::kItemsPerRangePart) {
    NewPart part;
    part.number = parts++;
    part.range_items = std::min(left, limits::kItemsPerRangePart);
    TIDEMILL_TRY_VOID(store.AddPart(made.id, part));
  }
  TIDEMILL_TRY_VOID(store.SealJob(made.id, parts));
  return made.id;
}

Result<std::vector<Agent>> JoinAll(Store& store, Random& random, int count) {
  std::vector<Agent> agents(static_cast<std::size_t>(count));
  for (Agent& agent : agents) {
    NewSession session;
    session.id = random.NewId<SessionId>();
    session.machine = ToString(session.id);
    session.project = "default";
    session.pool = "bench";
    session.token = kToken;
    session.life = std::chrono::hours(1);
    TIDEMILL_TRY(const Session joined, store.Join(session));
    agent.session = joined.id;
  }
  return agents;
}

// Some of the agents, by turns, until the time is over. One thread.
class Client {
 public:
  Client(Store& store, const Flags& flags, JobId job, std::vector<Agent> agents)
      : store_(store), flags_(flags), job_(job), agents_(std::move(agents)), bodies_(random_) {}

  void Run(steady_clock::time_point until) {
    std::size_t next = 0;
    while (steady_clock::now() < until && !measured_.error) {
      const std::size_t end =
          std::min(next + static_cast<std::size_t>(flags_.batch), agents_.size());
      Exchange exchange;
      exchange.cursors = cursors_;
      for (std::size_t i = next; i < end; ++i) exchange.syncs.push_back(Order(agents_[i]));
      const auto begin = steady_clock::now();
      const auto result = store_.Run(exchange);
      const std::chrono::duration<double, std::milli> took = steady_clock::now() - begin;
      measured_.transaction_ms.push_back(took.count());
      if (!result) {
        measured_.error = result.error();
        return;
      }
      for (std::size_t i = next; i < end; ++i) Take(agents_[i], result->syncs[i - next]);
      for (const auto& [job, cursor] : result->cursors) cursors_[job] = cursor;
      measured_.outcomes += result->outcomes;
      ++measured_.transactions;
      next = end == agents_.size() ? 0 : end;
    }
  }
  const Measured& measured() const { return measured_; }

 private:
  SyncOrder Order(const Agent& agent) {
    SyncOrder order;
    order.session = agent.session;
    order.token = kToken;
    order.life = std::chrono::hours(1);
    order.asks.push_back({job_, flags_.lease_items, random_.NewId<LeaseId>()});
    if (!agent.lease) return order;
    const Bits& mine = agent.lease->mine;
    Settlement& settlement = order.settlements.emplace_back();
    settlement.lease = agent.lease->id;
    settlement.ok = mine.Resized(limits::kItemsPerChunk);
    const auto bytes = static_cast<std::size_t>(mine.Count() * flags_.outcome_bytes);
    settlement.body = bodies_.Take(random_, bytes);
    order.known.push_back(agent.lease->id);
    return order;
  }

  void Take(Agent& agent, const SyncResult& result) {
    agent.lease.reset();
    if (result.grants.empty()) {
      ++measured_.empty_syncs;
      return;
    }
    agent.lease = result.grants.front().lease;
    ++measured_.leases;
  }

  Store& store_;
  const Flags flags_;
  const JobId job_;
  std::vector<Agent> agents_;
  SystemRandom random_;
  const Bodies bodies_;
  std::map<JobId, std::int32_t> cursors_;
  Measured measured_;
};

Result<Measured> Measure(const Flags& flags, double& seconds) {
  PostgresStore store({flags.database, flags.connections});
  SystemRandom random;
  TIDEMILL_TRY_VOID(store.Migrate());
  TIDEMILL_TRY(const JobId job, MakeJob(store, random, flags));
  TIDEMILL_TRY(const std::vector<Agent> agents, JoinAll(store, random, flags.agents));
  std::vector<std::vector<Agent>> shares(static_cast<std::size_t>(flags.connections));
  for (std::size_t i = 0; i < agents.size(); ++i) shares[i % shares.size()].push_back(agents[i]);
  std::vector<Client> clients;
  for (std::vector<Agent>& share : shares)
    clients.emplace_back(store, flags, job, std::move(share));
  const auto begin = steady_clock::now();
  const auto until = begin + std::chrono::seconds(flags.seconds);
  {
    std::vector<std::jthread> threads;
    for (Client& client : clients) threads.emplace_back([&client, until] { client.Run(until); });
  }
  seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  Measured sum;
  for (const Client& client : clients) {
    const Measured& one = client.measured();
    if (one.error) return tl::unexpected(*one.error);
    sum.outcomes += one.outcomes;
    sum.leases += one.leases;
    sum.transactions += one.transactions;
    sum.empty_syncs += one.empty_syncs;
    sum.transaction_ms.insert(sum.transaction_ms.end(), one.transaction_ms.begin(),
                              one.transaction_ms.end());
  }
  std::sort(sum.transaction_ms.begin(), sum.transaction_ms.end());
  return sum;
}

void Print(const Measured& measured, const Flags& flags, double seconds) {
  const auto rate = [seconds](std::int64_t count) { return static_cast<double>(count) / seconds; };
  const auto quantile = [&](double q) {
    const auto& all = measured.transaction_ms;
    if (all.empty()) return 0.0;
    return all[std::min(all.size() - 1,
                        static_cast<std::size_t>(q * static_cast<double>(all.size())))];
  };
  const std::string format =
      flags.json
          ? "{{\"outcomes_per_s\": {:.0f}, \"leases_per_s\": {:.0f}, "
            "\"transactions_per_s\": {:.1f}, \"transaction_ms_p50\": {:.1f}, "
            "\"transaction_ms_p99\": {:.1f}, \"empty_syncs\": {}, \"agents\": {}, "
            "\"lease_items\": {}, \"batch\": {}, \"connections\": {}, \"seconds\": {:.2f}}}\n"
          : "outcomes      {:.0f}/s\nleases        {:.0f}/s\ntransactions  {:.1f}/s\n"
            "transaction   {:.1f} ms in the middle, {:.1f} ms for the slowest of a hundred\n"
            "empty syncs   {}\n"
            "with {} agents, leases of {} items, batches of {}, {} connections, {:.2f} s\n";
  fmt::print(fmt::runtime(format), rate(measured.outcomes), rate(measured.leases),
             rate(measured.transactions), quantile(0.5), quantile(0.99), measured.empty_syncs,
             flags.agents, flags.lease_items, flags.batch, flags.connections, seconds);
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) {
  tidemill::Flags flags;
  CLI::App app("Measures how many outcomes a second the store records.", "tidemill-store-bench");
  app.add_option("--database", flags.database, "conninfo; tables are made, a job is added")
      ->required();
  app.add_option("--agents", flags.agents, "sessions")->check(CLI::PositiveNumber);
  app.add_option("--lease-items", flags.lease_items, "items a lease")->check(CLI::Range(1, 2048));
  app.add_option("--batch", flags.batch, "syncs a transaction")->check(CLI::Range(1, 256));
  app.add_option("--connections", flags.connections, "threads, each with a connection")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", flags.seconds, "how long")->check(CLI::PositiveNumber);
  app.add_option("--outcome-bytes", flags.outcome_bytes, "bytes an outcome in a report")
      ->check(CLI::Range(0, 200));
  app.add_flag("--json", flags.json, "one line of JSON");
  app.footer(
      "Example: tidemill-store-bench --database 'dbname=bench' --lease-items 40 --seconds 10\n"
      "Exit codes: 0 measured, 1 the store failed, 2 wrong use.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  double seconds = 0;
  const auto measured = tidemill::Measure(flags, seconds);
  if (!measured) {
    std::cerr << "tidemill-store-bench: " << measured.error().reason << "\n";
    return 1;
  }
  tidemill::Print(*measured, flags, seconds);
  return 0;
}
