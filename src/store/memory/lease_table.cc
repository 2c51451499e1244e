// SPDX-License-Identifier: Apache-2.0
#include "store/memory/lease_table.h"

namespace tidemill {
namespace {

// The value of a key, or an empty one.
template <typename Key, typename Value>
const Value& ValueOf(const std::map<Key, Value>& map, const Key& key) {
  static const Value kEmpty;
  const auto found = map.find(key);
  return found == map.end() ? kEmpty : found->second;
}

template <typename Key>
void Remove(std::map<Key, LeaseTable::Ids>& map, const Key& key, LeaseId id) {
  const auto found = map.find(key);
  found->second.erase(id);
  if (found->second.empty()) map.erase(found);
}

void AddOwed(LeaseTable::Holding& holding, JobId job, std::int64_t items) {
  if ((holding.owed[job] += items) == 0) holding.owed.erase(job);
}

}  // namespace

const Lease* LeaseTable::Find(LeaseId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

const LeaseTable::Holding& LeaseTable::HeldBy(SessionId session) const {
  return ValueOf(of_session_, session);
}

const LeaseTable::Ids& LeaseTable::OfJob(JobId job) const { return ValueOf(of_job_, job); }

const LeaseTable::Ids& LeaseTable::OfChunk(ChunkKey chunk) const {
  return ValueOf(of_chunk_, chunk);
}

void LeaseTable::Add(const Lease& lease) {
  if (leases_.contains(lease.id)) End(lease.id);
  leases_[lease.id] = lease;
  Holding& holding = of_session_[lease.session];
  holding.leases.insert(lease.id);
  AddOwed(holding, lease.chunk.job, lease.mine.Count());
  of_job_[lease.chunk.job].insert(lease.id);
  of_chunk_[lease.chunk].insert(lease.id);
  touched_.Add(lease.chunk);
}

void LeaseTable::Settle(LeaseId id, const Bits& items) {
  Lease& lease = leases_.at(id);
  const int before = lease.mine.Count();
  lease.mine -= items;
  AddOwed(of_session_.at(lease.session), lease.chunk.job, lease.mine.Count() - before);
  touched_.Add(lease.chunk);
  if (lease.mine.None()) End(id);
}

void LeaseTable::End(LeaseId id) {
  const auto found = leases_.find(id);
  const Lease& lease = found->second;
  const auto holding = of_session_.find(lease.session);
  AddOwed(holding->second, lease.chunk.job, -lease.mine.Count());
  holding->second.leases.erase(id);
  if (holding->second.leases.empty()) of_session_.erase(holding);
  Remove(of_job_, lease.chunk.job, id);
  Remove(of_chunk_, lease.chunk, id);
  touched_.Add(lease.chunk);
  leases_.erase(found);
}

}  // namespace tidemill
