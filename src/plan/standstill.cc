// SPDX-License-Identifier: Apache-2.0
#include "plan/standstill.h"

#include "plan/caps.h"
#include "plan/claims.h"

namespace tidemill {

bool IsOutOfBudget(const SnapshotIndex& index, std::size_t job) {
  const PlanJob& of = index.snapshot().jobs[job];
  if (!of.budget || of.leased > 0) return false;
  bool waits = false;
  // What others run is not counted: it takes nothing from this job's budget.
  const Caps caps(index);
  for (const Claim& claim : ClaimsOf(index)) {
    if (claim.job != job || claim.waiting == 0) continue;
    waits = true;
    for (std::size_t pool = 0; pool < claim.pools.size(); ++pool) {
      if (caps.Reached(claim, pool) != Limit::kBudget) return false;
    }
  }
  return waits;
}

}  // namespace tidemill
