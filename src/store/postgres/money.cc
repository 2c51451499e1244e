// SPDX-License-Identifier: Apache-2.0
// What machines have cost, and whom; how long items took.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"

namespace tidemill {
namespace {

// Ordered, so that two leaders do not wait for each other in a circle.
const Statement kLockPutDown{
    "lock_put_down",
    "select m.project, m.pool, m.number from machine m join"
    " unnest(string_to_array($1, E'\n'), string_to_array($2, E'\n'), $3, $4)"
    " k (project, pool, number, from_us) on m.project = k.project and m.pool = k.pool"
    " and m.number = k.number"
    " and m.put_down_until = 'epoch'::timestamptz + k.from_us * interval '1 us'"
    " order by m.project, m.pool, m.number for no key update of m"};
const Statement kMarkPutDown{
    "mark_put_down",
    "update machine m set put_down_until = 'epoch'::timestamptz + k.until_us * interval '1 us'"
    " from unnest(string_to_array($1, E'\n'), string_to_array($2, E'\n'), $3, $4)"
    " k (project, pool, number, until_us)"
    " where m.project = k.project and m.pool = k.pool and m.number = k.number"};
const Statement kSpendOnJobs{"spend_on_jobs",
                             "insert into spend (job_id, project, account, time_us, micros)"
                             " select k.job, '', k.account, k.time_us, k.micros"
                             " from unnest($1, $2, $3, $4) k (job, account, time_us, micros)"
                             " order by k.job, k.account on conflict (job_id, project, account)"
                             " do update set time_us = spend.time_us + excluded.time_us,"
                             " micros = spend.micros + excluded.micros"};
const Statement kSpendOnProject{
    "spend_on_project",
    "insert into spend (job_id, project, account, time_us, micros) values (0, $1, $2, $3, $4)"
    " on conflict (job_id, project, account)"
    " do update set time_us = spend.time_us + excluded.time_us,"
    " micros = spend.micros + excluded.micros"};
const Statement kLockSpend{"lock_spend",
                           "select account, time_us, micros from spend where job_id = $1"
                           " and project = '' order by account for update"};
const Statement kReadSpend{"read_spend",
                           "select job_id, account, time_us, micros from spend"
                           " where job_id = any ($1) and project = '' order by job_id, account"};
const Statement kReadOverhead{"read_overhead",
                              "select account, time_us, micros from spend"
                              " where job_id = 0 and project = $1 order by account"};
const Statement kHearTimes{
    "hear_times",
    "insert into job_time (job_id, server, items, seconds, squares, lost_seconds)"
    " select k.job, $1, k.items, k.seconds, k.squares, k.lost from unnest($2, $3,"
    " string_to_array($4, ' ')::double precision[], string_to_array($5, ' ')::double precision[],"
    " string_to_array($6, ' ')::double precision[]) k (job, items, seconds, squares, lost)"
    " join job j on j.job_id = k.job order by k.job on conflict (job_id, server)"
    " do update set items = excluded.items, seconds = excluded.seconds,"
    " squares = excluded.squares, lost_seconds = excluded.lost_seconds"};

Entry ReadEntry(Row& row, JobId job) {
  Entry entry;
  entry.account = static_cast<Account>(row.Small());
  entry.job = job;
  entry.time = Duration(row.Big());
  entry.amount = {row.Big()};
  return entry;
}

Params KeysWith(const std::vector<const PutDownMachine*>& machines,
                TimePoint PutDownMachine::* time) {
  std::string projects, pools;
  std::vector<std::int64_t> numbers, times;
  for (const PutDownMachine* machine : machines) {
    projects.append(projects.empty() ? "" : "\n").append(machine->key.project);
    pools.append(pools.empty() ? "" : "\n").append(machine->key.pool);
    numbers.push_back(machine->key.number);
    times.push_back((machine->*time).time_since_epoch().count());
  }
  return Params().Text(projects).Text(pools).Bigs(numbers).Bigs(times);
}

// Of all machines together, each account once.
class Sums {
 public:
  void Add(const std::string& project, const Entry& entry) {
    const bool of_job = entry.account == Account::kJob || entry.account == Account::kLost;
    Entry& sum = sums_[{of_job ? "" : project, of_job ? entry.job : JobId{}, entry.account}];
    sum.time += entry.time;
    sum.amount += entry.amount;
  }
  void Tell(Transaction& transaction) const {
    std::vector<std::int64_t> jobs, times, amounts;
    std::vector<std::int32_t> accounts;
    for (const auto& [key, sum] : sums_) {
      const auto& [project, job, account] = key;
      if (project.empty()) {
        jobs.push_back(job.number);
        accounts.push_back(static_cast<std::int32_t>(account));
        times.push_back(sum.time.count());
        amounts.push_back(sum.amount.micros);
        continue;
      }
      transaction.Tell(kSpendOnProject, Params()
                                            .Text(project)
                                            .Int(static_cast<std::int32_t>(account))
                                            .Big(sum.time.count())
                                            .Big(sum.amount.micros));
    }
    if (jobs.empty()) return;
    transaction.Tell(kSpendOnJobs, Params().Bigs(jobs).Ints(accounts).Bigs(times).Bigs(amounts));
  }

 private:
  std::map<std::tuple<std::string, JobId, Account>, Entry> sums_;
};

}  // namespace

Result<void> PostgresStore::PutDown(const std::vector<PutDownMachine>& machines) {
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    std::vector<const PutDownMachine*> all;
    for (const PutDownMachine& machine : machines) all.push_back(&machine);
    TIDEMILL_TRY(const Rows rows,
                 transaction.One(kLockPutDown, KeysWith(all, &PutDownMachine::from)));
    std::set<MachineKey> ours;
    for (int i = 0; i < rows.size(); ++i) {
      Row row = rows[i];
      MachineKey key;
      key.project = row.Text();
      key.pool = row.Text();
      key.number = row.Big();
      ours.insert(std::move(key));
    }
    std::erase_if(all, [&](const PutDownMachine* one) { return !ours.contains(one->key); });
    if (all.empty()) return {};
    Sums sums;
    for (const PutDownMachine* machine : all) {
      for (const Entry& entry : machine->entries) sums.Add(machine->key.project, entry);
    }
    transaction.Tell(kMarkPutDown, KeysWith(all, &PutDownMachine::until));
    sums.Tell(transaction);
    TIDEMILL_TRY_VOID(transaction.Commit());
    return {};
  });
}

Result<void> PostgresStore::SetLost(JobId job, Duration time, Money amount) {
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    TIDEMILL_TRY(const Rows rows, transaction.One(kLockSpend, Params().Big(job.number)));
    Entry worked, lost;
    for (int i = 0; i < rows.size(); ++i) {
      Row row = rows[i];
      const Entry entry = ReadEntry(row, job);
      (entry.account == Account::kLost ? lost : worked) = entry;
    }
    const Duration more = std::clamp(time - lost.time, Duration(0), worked.time);
    const std::int64_t dollars =
        std::clamp<std::int64_t>(amount.micros - lost.amount.micros, 0, worked.amount.micros);
    if (more == Duration(0) && dollars == 0) return {};
    transaction.Tell(kSpendOnJobs, Params()
                                       .Bigs({job.number, job.number})
                                       .Ints({static_cast<std::int32_t>(Account::kJob),
                                              static_cast<std::int32_t>(Account::kLost)})
                                       .Bigs({-more.count(), more.count()})
                                       .Bigs({-dollars, dollars}));
    TIDEMILL_TRY_VOID(transaction.Commit());
    return {};
  });
}

Result<std::vector<JobMoney>> PostgresStore::ReadMoney(const std::vector<JobId>& jobs) {
  std::vector<std::int64_t> numbers;
  for (const JobId job : jobs) numbers.push_back(job.number);
  TIDEMILL_TRY(const Rows rows, Query(kReadSpend, Params().Bigs(numbers)));
  std::map<JobId, JobMoney> found;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    const JobId job{row.Big()};
    found[job].entries.push_back(ReadEntry(row, job));
  }
  std::vector<JobMoney> money;
  for (const JobId job : jobs) {
    money.push_back(found[job]);
    money.back().job = job;
  }
  return money;
}

Result<std::vector<Entry>> PostgresStore::ReadOverhead(const std::string& project) {
  TIDEMILL_TRY(const Rows rows, Query(kReadOverhead, Params().Text(project)));
  return ReadAll(rows, [](Row row) { return ReadEntry(row, {}); });
}

Result<void> PostgresStore::HearTimes(const std::string& server,
                                      const std::vector<HeardTimes>& times) {
  std::vector<std::int64_t> jobs, items;
  std::string seconds, squares, lost;
  const auto add = [](std::string& list, double value) {
    list.append(list.empty() ? "" : " ").append(std::to_string(value));
  };
  for (const HeardTimes& heard : times) {
    jobs.push_back(heard.job.number);
    items.push_back(heard.items);
    add(seconds, heard.seconds);
    add(squares, heard.squares);
    add(lost, heard.lost_seconds);
  }
  TIDEMILL_TRY_VOID(
      Query(kHearTimes,
            Params().Text(server).Bigs(jobs).Bigs(items).Text(seconds).Text(squares).Text(lost)));
  return {};
}

}  // namespace tidemill
