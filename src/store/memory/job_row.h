// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "store/memory/job_chunks.h"

// A job, and all that is kept with it.
namespace tidemill {

// A call that added items and had a key.
struct CallRow {
  std::string digest;
  std::optional<std::int64_t> first;
  std::int64_t added = 0;
  std::int32_t day = 0;  // it was last said
};

// A part that was added, by which a copy of it is known.
struct PartRow {
  std::string digest;
  std::int32_t day = 0;  // it came
};

// Of a chunk that was rolled up in an open job.
struct OverMark {
  std::int64_t at_us = 0;
  bool failed = false;  // something in it did
};

// What of a job is in the ledger.
struct LedgerMarks {
  std::int32_t chunks = 0;
  int state = -1;
  std::int32_t round = -1;
};

struct JobRow {
  Job job;
  JobChunks chunks;
  std::map<std::int32_t, std::string> bodies;  // by chunk
  std::map<std::int32_t, PartRow> parts;
  std::map<std::int32_t, OverMark> over;  // by chunk
  std::int64_t touched_us = 0;
  std::int64_t granted_us = 0;  // the last lease of it
  std::int64_t served_us = 0;   // when it was last seen to have a lease, to the minute
  std::set<JobId> after_met;    // of its wishes' `after`: need not be waited for any more
  std::map<std::string, std::int32_t> once;  // marks of items, and the day each was last said
  std::map<std::string, CallRow> calls;      // by mark
};

}  // namespace tidemill
