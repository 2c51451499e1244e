// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "logs/pack.h"

namespace tidemill {

// What items wrote, on the machine's own disk until it is in the object store. A job has a folder,
// named by its number, with files SEQ.pack, which are only ever appended to and each become one
// pack. SEQ has twelve digits and rises over all of them.
//
//   "tmsp" │ url bytes: 4 │ url │ piece, piece ...
//   piece:  "tlog" │ length: 4 │ item: 8 │ round: 4 │ attempt: 4 │ time_ms: 8 │ flags: 4 │
//           missing: 4 │ bytes
//
// Little-endian. The url is the pack's, so that whoever finds the file knows where it belongs;
// empty: it stays here. Flags are those of LogPart. An agent that was killed leaves an end that is
// torn: it is not read.

inline constexpr std::size_t kSpoolPieceHeadBytes = 40;
// A larger length is damage, not a piece.
inline constexpr std::uint32_t kSpoolPieceBytes = 16 << 20;
inline constexpr std::uint32_t kSpoolUrlBytes = 4096;

std::string SpoolHead(std::string_view url);
// The part's size is that of `bytes`.
void AppendSpoolPiece(std::string& out, const LogAttempt& who, const LogPart& part,
                      std::string_view bytes);

struct SpoolPiece {
  LogAttempt who = {};
  LogPart part = {};
  std::string_view bytes = {};
};
struct Spool {
  std::string_view url = {};
  std::vector<SpoolPiece> pieces = {};  // all that are whole
};
// Borrows the bytes. kInvalid: not such a file.
Result<Spool> ReadSpool(std::string_view bytes);
// The same attempts, with nothing but holes where their text was.
std::string HolesOf(const Spool& spool);

// --- the disk: all of it blocks. Any thread, one at a time for each file ---

struct SpoolFile {
  std::uint64_t seq = 0;
  std::string path = {};
  std::size_t bytes = 0;
};
std::string SpoolName(std::uint64_t seq);  // "000003000017"
std::string SpoolPath(const std::string& folder, std::int64_t job, std::uint64_t seq);
// By seq.
std::vector<SpoolFile> FindSpools(const std::string& folder);

// Makes folders that are missing. On an error the file is as it was before.
Result<void> AppendSpool(const std::string& path, std::string_view bytes);

struct SpooledPack {
  std::string url = {};   // empty: it stays where it is
  std::string pack = {};  // empty: there is nothing in it
};
// kInvalid: the file is damaged. kNotFound: there is none.
Result<SpooledPack> PackSpool(const std::string& path);
// Makes room: what the file has of text becomes holes; a file that stays here goes. Answers how
// long it is now.
Result<std::size_t> ShrinkSpool(const std::string& path);
void RemoveSpool(const std::string& path);

}  // namespace tidemill
