// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/store.h"

namespace tidemill {

// What must hold of every committed state, whatever has happened before:
//
//   cover      the chunks of a job cover its items 0 .. N-1 once
//   states     done, leased, parked and resting are disjoint, lost once and suspect too; failed is
//              in done
//   leases     leased is the disjoint union of the job's leases, and none of them is empty
//   sessions   no lease belongs to a dead or unknown session
//   rests      an item rests exactly if it has a time at which its retry is due
//   outcomes   every done item has exactly one outcome, every other item has none
//   ends       a finished job is done throughout; a cancelled one has nothing leased or waiting
//
// Answers a sentence for each breach; none means that nothing was lost or doubled.
std::vector<std::string> CheckConservation(const StoreState& state);

// The same of all jobs of a store, one after the other, while it is in use: each is looked at as of
// one moment.
Result<std::vector<std::string>> CheckStore(Store& store);
// Only of jobs that are active, paused or being cancelled: those that are over outnumber them, and
// do not change.
Result<std::vector<std::string>> CheckLiveJobs(Store& store);

}  // namespace tidemill
