// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/loop.h"
#include "model/job.h"

namespace tidemill {

// How a played agent behaves. The chances are of one time that it could do so.
struct Script {
  std::string join_token;
  Resources shape{1000, 0};
  // What an item is said to have taken, and what a whole lease really takes here.
  std::int64_t item_ms = 375;
  Duration lease_time{};
  Duration heartbeat = std::chrono::seconds(10);
  Duration session_life = std::chrono::seconds(60);
  bool fetches_items = true;
  // Of all items this many in a million fail whenever they are run; which ones, the seed says.
  std::int64_t failing_ppm = 0;
  std::uint64_t seed = 0;

  double repeats = 0;  // says a settlement again in a later sync
  double lies = 0;     // claims items of others, uses a seq twice, names offsets that do not exist
  double splits = 0;   // settles a lease in two reports
  double leaves = 0;   // leaves in good order, with what it holds, and joins anew
  double gives_back = 0;  // returns a part of a lease
  double comes_late =
      0;  // is silent for longer than its session lives, then goes on as if nothing was
  double vanishes = 0;  // is never heard of again; a new agent takes its place
  bool operator==(const Script&) const = default;
};

// Whether an item fails whenever it is run. The same for all agents of a run, so that the end of a
// job is known before it begins.
bool ItemFails(const Script& script, std::int64_t item);

// How many of the items 0 .. n-1 fail.
std::int64_t FailingItems(const Script& script, std::int64_t n);

}  // namespace tidemill
