// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/chunk.h"

namespace tidemill {

// GET /v1/jobs/{job}/items/{item}/log
struct LogPageDoc {
  struct Part {
    std::int64_t time_ms = 0;
    std::int64_t missing_bytes = 0;  // before its text
    bool over_limit = false;         // because the log was too long
    bool lost_before = false;        // begun again, or taken over: words may be missing
    std::string text = {};           // any bytes
  };
  std::int64_t item = 0;
  ItemState state = ItemState::kWaiting;
  bool found = false;  // false: nothing is stored of it, and the three below say nothing
  std::int32_t round = 0;
  std::int32_t attempt = 0;
  std::string next = {};  // to go on from
  std::vector<Part> parts = {};
  bool more = false;     // there is more already
  bool ended = false;    // the log is complete
  bool awaited = false;  // its end is on its way, or was lost
  std::int64_t fetched_bytes = 0;
};
std::string FormatLogPage(const LogPageDoc& page);
Result<LogPageDoc> ParseLogPage(std::string_view body);

// "ROUND.ATTEMPT.PARTS": where the next page begins.
struct LogNext {
  std::int32_t round = 0;
  std::int32_t attempt = 0;
  std::uint64_t parts = 0;
};
std::string FormatLogNext(const LogNext& next);
// kInvalid: not such a word.
Result<LogNext> ParseLogNext(std::string_view text);

// GET /v1/jobs/{job}/logs
struct LogHitsDoc {
  struct Hit {
    std::int64_t item = 0;
    std::int32_t round = 0;
    std::int32_t attempt = 0;
    std::int64_t time_ms = 0;
    std::string line = {};
  };
  std::vector<Hit> hits = {};
  std::string next = {};  // empty: all was searched
  // What this page has gone through.
  std::int64_t packs = 0;
  std::int64_t logs = 0;
  std::int64_t text_bytes = 0;
  std::int64_t damaged_packs = 0;
  std::int64_t fetched_bytes = 0;
};
std::string FormatLogHits(const LogHitsDoc& page);
Result<LogHitsDoc> ParseLogHits(std::string_view body);

}  // namespace tidemill
