// SPDX-License-Identifier: Apache-2.0
#include "store/memory/report_table.h"

#include <limits>

namespace tidemill {
namespace {

// Before all of a chunk, and before all of a job.
ReportTable::Key First(ChunkKey chunk) {
  return {chunk, LeaseId{}, std::numeric_limits<std::int32_t>::min()};
}
StatTable::Key FirstStat(ChunkKey chunk) {
  return {chunk, std::numeric_limits<std::int32_t>::min()};
}
ChunkKey After(ChunkKey chunk) { return {chunk.job, chunk.chunk + 1}; }
ChunkKey After(JobId job) { return {{job.number + 1}, 0}; }

Report Without(const Report& report, Bodies bodies) {
  if (bodies == Bodies::kWith) return report;
  return {report.lease, report.seq,     report.chunk, report.round,
          report.kind,  report.settled, report.ended, {}};
}

ChunkStat Without(const ChunkStat& stat, Bodies bodies) {
  if (bodies == Bodies::kWith) return stat;
  return {stat.chunk, stat.round, stat.ended, {}, {}};
}

}  // namespace

bool ReportTable::Has(const Lease& lease, std::int32_t seq) const {
  return reports_.contains({lease.chunk, lease.id, seq});
}

std::vector<Report> ReportTable::Of(ChunkKey chunk, Bodies bodies) const {
  std::vector<Report> reports;
  const auto end = reports_.lower_bound(First(After(chunk)));
  for (auto it = reports_.lower_bound(First(chunk)); it != end; ++it) {
    reports.push_back(Without(it->second, bodies));
  }
  return reports;
}

void ReportTable::EachOfJob(JobId job, const std::function<bool(const Report&)>& see) const {
  const auto begin = reports_.lower_bound(First({job, 0}));
  for (auto it = reports_.lower_bound(First(After(job))); it != begin;) {
    if (!see((--it)->second)) return;
  }
}

void ReportTable::Add(const Report& report) {
  reports_[{report.chunk, report.lease, report.seq}] = report;
  touched_.Add(report.chunk);
}

void ReportTable::Reopen(ChunkKey chunk, const Bits& items) {
  const auto end = reports_.lower_bound(First(After(chunk)));
  for (auto it = reports_.lower_bound(First(chunk)); it != end; ++it) it->second.ended -= items;
  touched_.Add(chunk);
}

std::vector<Report> ReportTable::Take(ChunkKey chunk) {
  std::vector<Report> reports;
  const auto begin = reports_.lower_bound(First(chunk));
  const auto end = reports_.lower_bound(First(After(chunk)));
  for (auto it = begin; it != end; ++it) reports.push_back(std::move(it->second));
  reports_.erase(begin, end);
  touched_.Add(chunk);
  return reports;
}

std::vector<ChunkStat> StatTable::Of(ChunkKey chunk, Bodies bodies) const {
  std::vector<ChunkStat> stats;
  const auto end = stats_.lower_bound(FirstStat(After(chunk)));
  for (auto it = stats_.lower_bound(FirstStat(chunk)); it != end; ++it) {
    stats.push_back(Without(it->second, bodies));
  }
  return stats;
}

std::vector<ChunkStat> StatTable::OfJob(JobId job, std::int32_t from, int limit) const {
  std::vector<ChunkStat> stats;
  const auto end = stats_.lower_bound(FirstStat(After(job)));
  for (auto it = stats_.lower_bound(FirstStat({job, from})); it != end; ++it) {
    if (static_cast<int>(stats.size()) == limit) break;
    stats.push_back(it->second);
  }
  return stats;
}

void StatTable::Put(ChunkStat stat) {
  const Key key{stat.chunk, stat.round};
  not_in_ledger_.insert(key);
  touched_.Add(stat.chunk);
  stats_[key] = std::move(stat);
}

void StatTable::Reopen(ChunkKey chunk, const Bits& items) {
  const auto end = stats_.lower_bound(FirstStat(After(chunk)));
  for (auto it = stats_.lower_bound(FirstStat(chunk)); it != end; ++it) {
    it->second.ended -= items;
    not_in_ledger_.insert(it->first);
  }
  touched_.Add(chunk);
}

std::vector<ChunkStat> StatTable::NotInLedger(int limit) const {
  std::vector<ChunkStat> due;
  for (const Key& key : not_in_ledger_) {
    if (static_cast<int>(due.size()) == limit) break;
    due.push_back(stats_.at(key));
  }
  return due;
}

bool StatTable::IsInLedger(JobId job) const {
  const auto next = not_in_ledger_.lower_bound(FirstStat({job, 0}));
  return next == not_in_ledger_.end() || next->first.job != job;
}

bool StatTable::IsInLedger(ChunkKey chunk) const {
  const auto next = not_in_ledger_.lower_bound(FirstStat(chunk));
  return next == not_in_ledger_.end() || next->first != chunk;
}

void StatTable::Drop(ChunkKey chunk) {
  stats_.erase(stats_.lower_bound(FirstStat(chunk)), stats_.lower_bound(FirstStat(After(chunk))));
  not_in_ledger_.erase(not_in_ledger_.lower_bound(FirstStat(chunk)),
                       not_in_ledger_.lower_bound(FirstStat(After(chunk))));
}

void StatTable::MarkInLedger(const ChunkStat& stat) {
  const auto found = stats_.find({stat.chunk, stat.round});
  if (found != stats_.end() && found->second.ended == stat.ended) {
    not_in_ledger_.erase(found->first);
  }
}

}  // namespace tidemill
