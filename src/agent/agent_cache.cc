// SPDX-License-Identifier: Apache-2.0
// What all items of a job need: it is here before the first of them begins, and stays while one of
// the job's containers is open.
#include <string>
#include <utility>

#include "agent/agent.h"
#include "agent/volumes.h"

namespace tidemill {

void Agent::Prepare(LeaseId lease, JobId job) {
  const Catalog::Entry& entry = catalog_.JobOf(job);
  if (const auto mounts = VolumesOf(job); !mounts) {
    return Rest(job, {.reason = mounts.error().reason, .for_good = true});
  }
  if (entry.run.cache.empty()) return work_.MakeReady(lease);
  if (deps_.cache == nullptr) return Rest(job, {.reason = "this agent keeps no cache"});
  const auto [found, fresh] = caches_.try_emplace(job);
  if (found->second.held != nullptr) return work_.MakeReady(lease);
  found->second.waiting.push_back(lease);
  if (!fresh) return;
  deps_.cache->Get(
      entry.project, entry.run.cache,
      InThisSession([this, job](const Result<JobCache::Held>& held) { OnCache(job, held); }));
}

Result<std::vector<Mount>> Agent::VolumesOf(JobId job) const {
  return MountsOf(catalog_.JobOf(job).run.mounts,
                  {slots_.policy().volumes, options_.host_folders, deps_.engine.mounts()});
}

void Agent::OnCache(JobId job, const Result<JobCache::Held>& held) {
  const auto found = caches_.find(job);
  if (found == caches_.end()) return;
  if (held) {
    found->second.held = *held;
    for (const LeaseId& lease : std::exchange(found->second.waiting, {})) work_.MakeReady(lease);
  } else {
    caches_.erase(found);
    if (work_.HasUnfinished(job)) OnNoCache(job, held.error());
  }
  Fill();
  Consider();
}

// Not the fault of any item. What no other try will change, a person must hear of; what others
// fetch just now, or the store, may have made way in a while.
void Agent::OnNoCache(JobId job, const Error& error) {
  const bool may_pass = error.code == Code::kUnavailable || error.code == Code::kUnknown ||
                        error.code == Code::kExhausted;
  Rest(job, {.reason = "its cache could not be fetched: " + error.reason, .for_good = !may_pass});
  if (error.code == Code::kExhausted) OnMachineFault(error.reason);
}

void Agent::AddCache(JobId job, Slots::Wish& wish) const {
  const auto found = caches_.find(job);
  if (found == caches_.end() || found->second.held == nullptr) return;
  const JobCache::Held& held = found->second.held;
  wish.keeps.push_back(held);
  for (const auto& [name, path] : held->paths) {
    wish.spec.mounts.push_back({path, std::string(kCacheInside) + "/" + name, true});
  }
  if (wish.spec.loop) AddCache(job, wish.program);
}

void Agent::AddCache(JobId job, ItemRun& run) const {
  const auto found = caches_.find(job);
  if (found == caches_.end() || found->second.held == nullptr) return;
  const bool mounts = deps_.engine.mounts();
  run.env.push_back("TIDEMILL_CACHE=" +
                    (mounts ? std::string(kCacheInside) : found->second.held->folder));
}

}  // namespace tidemill
