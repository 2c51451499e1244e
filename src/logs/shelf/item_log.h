// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "logs/shelf/packs.h"

namespace tidemill {

// Which part of a log is wanted.
struct ItemLogAsk {
  std::string place = {};  // below which the job's packs are, with a slash at the end
  std::int64_t item = 0;
  // Of an attempt; absent: the newest that has written something.
  std::optional<std::int32_t> round = {};
  std::optional<std::int32_t> attempt = {};
  // The pack that has the attempt's end, if that is known: then few others are looked at.
  std::string last_pack = {};
  std::uint64_t after = 0;               // so many parts are known already
  std::optional<std::size_t> tail = {};  // only so many of the last lines
  std::size_t page_bytes = 1 << 20;      // about
};

struct ItemLogPart {
  std::int64_t time_ms = 0;
  std::uint64_t missing = 0;  // bytes before its text
  bool over_limit = false;    // because the log was too long
  // The attempt was begun again here, or taken over by an agent's next life: what was written last
  // before that may be missing.
  bool lost_before = false;
  std::string text = {};
};

struct ItemLogPage {
  bool found = false;  // false: nothing is stored of it
  LogAttempt who = {};
  std::vector<ItemLogPart> parts = {};
  std::uint64_t next = 0;  // to go on from
  bool more = false;       // there is more in the store already
  bool ended = false;      // with these parts the attempt's log is complete
  // The pack that has the end is not there: it will come, or was lost with its machine.
  bool awaited = false;
  std::int64_t fetched_bytes = 0;
};

// Finds an item's log among its job's packs. `packs` outlives the call.
void ReadItemLog(Packs& packs, const ItemLogAsk& ask,
                 std::function<void(Result<ItemLogPage>)> done);

// The last lines of a text; and how many whole or begun lines it has.
std::string_view LastLines(std::string_view text, std::size_t lines);

}  // namespace tidemill
