// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bits.h"
#include "model/chunk.h"
#include "model/job.h"
#include "model/lease.h"
#include "model/session.h"
#include "model/stream.h"

// What goes into a store and comes out of it, as plain values.
namespace tidemill {

struct NewChunkItems {
  std::int32_t length = 0;
  std::string body;  // zstd of the items, a line each; empty for items of a bare range
};

struct NewPart {
  std::int32_t number = 0;
  std::string digest;                 // of the part as it came: tells a copy from another part
  std::vector<NewChunkItems> chunks;  // either these,
  std::int64_t range_items = 0;       // or this many items that are nothing but their numbers
};

// Either of these; neither: all that have failed.
struct ReopenWhich {
  std::vector<std::int64_t> items = {};  // those of them that are done
  // By chunk, those of them that have failed: a million items are a hundred kilobytes of it.
  std::map<std::int32_t, Bits> failed_of = {};
};

struct Reopened {
  std::int64_t items = 0;
  std::int32_t round = 0;
  bool operator==(const Reopened&) const = default;
};

struct Swept {
  bool again = false;  // there is more to do
  JobState state = JobState::kActive;
  std::vector<SessionId> revoked;  // whose leases were taken away by this step
  bool operator==(const Swept&) const = default;
};

struct Reaped {
  std::vector<SessionId> sessions;
  std::vector<JobId> jobs;        // whose items became free, or failed for good
  std::int64_t items_lost = 0;    // that were owed by the reaped sessions
  std::int64_t items_failed = 0;  // of those, lost too often
  bool operator==(const Reaped&) const = default;
};

struct JobFilter {
  std::string project = {};  // empty: all
  std::optional<JobState> state;
  std::optional<JobId> before;
  int limit = 100;
};

struct MachineFilter {
  std::string project = {};  // empty: all
  SessionId after = {};
  int limit = 100;
};

struct RunnableJob {
  JobId id;
  std::string project;
  Resources resources;           // memory: what its items start with by now
  std::int64_t free_items = 0;   // as of now, in the first chunks that have some; sizes leases
  std::int64_t retries_due = 0;  // items that are to be tried again now, up to a bound
  std::int64_t memory_max = 0;
  int trial = 0;  // its canary, while none of its items has succeeded; 0: it is not on trial
  bool operator==(const RunnableJob&) const = default;
};

struct ChunkFilter {
  std::int32_t from = 0;
  std::optional<ItemState> state;  // only chunks that have such an item
  int limit = 100;
};

struct ChunkItems {
  std::int64_t first_item = 0;
  std::int32_t length = 0;
  std::string body;
  bool operator==(const ChunkItems&) const = default;
};

// A machine, and what speaks against it.
struct Record {
  SessionId session;
  std::string project;
  std::string pool;
  std::int64_t attempts = 0;  // that its agent has settled
  std::int64_t blamed = 0;    // items that failed there and succeeded elsewhere
  bool aside = false;
  bool operator==(const Record&) const = default;
};

enum class ReportKind : std::int16_t {
  kAgent = 0,      // `body` is what the agent sent
  kLostLimit = 1,  // the reaper's: these items were lost with too many machines; no body
};

struct Report {
  LeaseId lease;
  std::int32_t seq = 0;
  ChunkKey chunk;
  std::int32_t round = 0;
  ReportKind kind = ReportKind::kAgent;
  Bits settled;  // attempts recorded by it; rows of the body outside these are not believed
  Bits ended;    // items whose present outcome is in it; a reopened item's is in none
  std::string body;
  bool operator==(const Report&) const = default;
};

// What a chunk's reports add up to.
struct ChunkStat {
  ChunkKey chunk;
  std::int32_t round = 0;
  Bits ended;
  std::string block;    // all rows, as one column block
  std::string summary;  // counts, histograms, extremes
  bool operator==(const ChunkStat&) const = default;
};

struct ChunkHistory {
  std::int64_t first_item = 0;
  std::vector<Report> reports;   // not rolled up yet, by lease and seq
  std::vector<ChunkStat> stats;  // by round
  bool operator==(const ChunkHistory&) const = default;
};

struct OpenReport {
  Report report;
  std::int64_t first_item = 0;   // of its chunk
  std::int32_t chunk_round = 0;  // of its chunk now: it will be rolled up in this one or a later
  bool operator==(const OpenReport&) const = default;
};

struct OpenReports {
  std::vector<OpenReport> reports;  // of higher chunks first, then by lease and seq, descending
  bool more = false;                // there are others
  bool operator==(const OpenReports&) const = default;
};

struct RollUpText {
  std::string block;
  std::string summary;
};
using RollUpMaker = std::function<RollUpText(const Chunk&, const std::vector<Report>&)>;

struct RolledUp {
  std::int32_t chunks = 0;
  std::int64_t reports = 0;
  bool operator==(const RolledUp&) const = default;
};

struct ChangeMark {
  std::int64_t seq = 0;
  std::int64_t clock_us = 0;  // the store's clock, since 1970
  std::int64_t plan_seq = 0;  // see PlanInForce
  // Jobs that Follow has named and whose time is not over, ascending; at most kFollowedJobs.
  std::vector<JobId> followed = {};
  // Those that AskStream has put there and whose time is not over; the oldest kAskedStreams.
  std::vector<AskedStream> streams = {};
};
// People who wait for an agent at the same time: each does for a second, or for half a minute.
inline constexpr int kAskedStreams = 256;

// Somebody wants into the container of an item.
struct NewStream {
  StreamId id;  // made by the caller, so that the call may be repeated
  JobId job;
  std::int64_t item = 0;
  std::string ask;  // see AskedStream
  Duration life{};  // how long agents are told of it
};
// Agents get the list with each sync; more people than this read something else meanwhile.
inline constexpr int kFollowedJobs = 64;
// Who has leases of a job that is followed, and is told so at once; the others hear it with their
// next sync.
inline constexpr int kFollowSessions = 1000;

struct StoredChunk {
  Chunk chunk;
  bool rolled = false;
  bool operator==(const StoredChunk&) const = default;
};

// An item that waits for its retry.
struct Rest {
  std::int64_t item = 0;
  std::int32_t chunk = 0;
  std::int64_t due_us = 0;  // the store's clock, since 1970
  bool operator==(const Rest&) const = default;
};

// What of a job's items is not in its chunks any more: it is done, and its record is in the ledger.
struct PackedItems {
  std::int64_t items = 0;
  std::int64_t failed = 0;  // of these
  bool operator==(const PackedItems&) const = default;
};

struct JobDump {
  Job job;
  PackedItems packed;
  std::vector<StoredChunk> chunks;  // by number
  std::vector<Lease> leases;        // by id
  std::vector<ItemTry> tries;       // by item
  std::vector<Rest> rests;          // by item
  std::vector<Report> reports;      // by lease and seq
  std::vector<ChunkStat> stats;     // by chunk and round
  bool operator==(const JobDump&) const = default;
};

// Whether a dump carries what is in reports and blocks. The check of a job of ten million items
// reads its bits only.
enum class Bodies { kWith, kWithout };

struct StoreState {
  std::vector<Session> sessions;  // by id
  std::vector<JobDump> jobs;      // by id
  bool operator==(const StoreState&) const = default;
};

}  // namespace tidemill
