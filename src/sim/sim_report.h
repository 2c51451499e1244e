// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/loop.h"
#include "sim/campaign.h"
#include "sim/outcome.h"

// What tidemill-sim says.
namespace tidemill {

// A failure whose plan is in a file.
struct KeptFailure {
  std::uint64_t seed = 0;
  SimOutcome outcome;
  std::string file;
  std::string shrunk;  // what was taken away; empty: nobody tried
  int runs = 0;        // that it took
};

// "sim-S04-1234.json".
std::string KeptFileName(const std::string& id, std::uint64_t seed);

std::string FormatTotals(const SimTotals& totals, Duration took);
std::string FormatFailure(const KeptFailure& failure);
// Of a run that went well the failure is null.
std::string FormatEndJson(const SimTotals& totals, Duration took, const KeptFailure* failure);

// 0 good, 2 something was lost or doubled, 3 something did not end.
int SimExitCode(SimVerdict verdict);

}  // namespace tidemill
