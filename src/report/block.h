// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/outcome.h"

namespace tidemill {

// A column block: rows of outcomes in one zstd frame. Agents write them, the ledger of a job is
// made of them, and they outlive every server. Unpacked:
//
//   "tmob" │ version: varint, now 1 │ rows: varint │ column, column ...
//                                                    └─ id: varint │ bytes: varint │ data
//
//   id  column        one value a row                                        left out if all are
//    1  item          signed, what it is more than in the row before (or 0)  (never)
//    2  attempt       varint                                                 1
//    3  cause         varint                                                 0
//    4  exit          signed                                                 0
//    5  start_ms      signed, what it is more than in the row before (or 0)  0
//    6  duration_ms   varint                                                 0
//    7  cpu_ms        varint                                                 0
//    8  memory_bytes  varint                                                 0
//    9  machine       names: varint, names x (bytes: varint, name), then     empty
//                     one varint a row: which of the names
//   10  round         varint                                                 0
//   11  log           as machine                                             empty
//   12  error         as machine                                             empty
//   13  result        as machine                                             empty
//   14  devices       as machine                                             empty
//
// Varint and signed are those of base/bytes.h. A column comes at most once, in any order; an empty
// one is as one left out. A reader skips columns it does not know; a change that it must not skip
// is a new version.

// 32 attempts at each item of a chunk: what one block of a chunk's whole life is made for. Decoded
// they are at most 15 MB, but for their texts.
inline constexpr std::size_t kBlockRows = 65'536;
// Rows with the longest possible numbers, and as many machines, logs and errors as rows, are 38 MB;
// as many devices are 17 MB more, and a result for each item of a chunk is 8 MB more.
inline constexpr std::size_t kBlockBytes = 64 * 1024 * 1024;

// At most kBlockRows rows, and no text of them longer than its limit. A number below zero,
// which only exit and start_ms can have, is written as zero. The same rows give the same bytes.
std::string EncodeBlock(std::span<const Outcome> rows);

// Believes nothing: kInvalid for whatever is not a block, or is larger than the limits above. No
// item, round, attempt, duration, cpu or memory of the rows is below zero. Texts are any
// bytes within their limits.
Result<std::vector<Outcome>> DecodeBlock(std::string_view frame);

}  // namespace tidemill
