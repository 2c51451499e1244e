// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.h"
#include "model/ids.h"
#include "model/labels.h"
#include "model/price.h"

namespace tidemill {

// draft ──seal──▶ active ◀──pause/resume──▶ paused
//   │               │  ▲                      │
//   │               │  └──reopen── finished ◀─┤ all items done, and the job is not open
//   └────cancel─────┴──▶ cancelling ◀─────────┘
//                            └── nothing leased, nothing free ──▶ cancelled
//
// `cancelled` is final. `finished` is left only by reopening, which begins a new round.
enum class JobState : std::int16_t {
  kDraft = 0,
  kActive = 1,
  kPaused = 2,
  kFinished = 3,
  kCancelling = 4,
  kCancelled = 5,
};

std::string_view JobStateName(JobState state);
std::optional<JobState> ParseJobState(std::string_view name);

// What one item needs of a machine, what a machine has, or what is free of it.
struct Resources {
  std::int64_t millicpus = 1000;
  std::int64_t memory_bytes = 0;
  Devices devices = {};
  bool operator==(const Resources&) const = default;
};

// A device that every machine has one of, for as long as nothing runs on it: an item that asks for
// it has the machine to itself.
inline constexpr char kWholeMachine[] = "machine";
bool WantsWholeMachine(const Resources& each);

// How many items that need `each` run side by side in `free`.
std::int64_t SlotsIn(const Resources& free, const Resources& each);
// What `free` is with `count` more of `each`; may fall below zero.
void Take(Resources& free, const Resources& each, std::int64_t count = 1);
// How many items of each job run side by side on a machine that owes so many of each, as far as
// that can be told from outside: one of each job, then more in turn while there is room. Of a job
// of which nobody knows what it needs, all that is owed.
std::map<JobId, std::int64_t> SideBySide(Resources has, const std::map<JobId, std::int64_t>& owed,
                                         const std::map<JobId, Resources>& needs);

// What a job asks of whoever decides what runs next.
struct JobWishes {
  std::string queue = {};     // empty: the default queue of its project
  std::int32_t priority = 0;  // inside its queue; the higher is served first
  std::optional<std::int64_t> max_parallel = {};
  std::optional<std::chrono::milliseconds> deadline = {};  // after it was submitted
  std::optional<Money> budget = {};
  Labels labels = {};             // a pool must have all of them
  std::vector<JobId> after = {};  // jobs that must be over first
  bool operator==(const JobWishes&) const = default;
};
// More than a person would write; each is looked at every second.
inline constexpr std::size_t kAfterJobs = 64;

// The queue of jobs that name none. If nobody has made one of this name, it has all pools.
inline constexpr char kDefaultQueue[] = "default";

struct JobSpec {
  std::string name;
  Resources resources;          // of an item's first attempt
  std::int64_t memory_max = 0;  // an item that ran out of memory is given up to this; 0: no more
  int retries = 0;              // an item may fail this often and be tried again
  std::chrono::milliseconds retry_wait{1000};  // before the first retry of an item; then doubling
  int canary = 20;  // if the first so many attempts all fail alike, it is paused; 0: never
  JobWishes wishes = {};
  std::string document;  // the spec as it was submitted (JSON); agents read the rest from it
  bool operator==(const JobSpec&) const = default;
};

struct NewJob {
  std::string project;
  std::string key;  // the same project and key mean the same job
  JobSpec spec;
  bool open = false;              // may be given more parts after it is sealed
  std::string image_digest = {};  // see Job
  std::string owner = {};         // see Job
  std::string uid = {};           // see Job
};

struct Job {
  JobId id;
  std::string project;
  std::string key;
  JobSpec spec;
  JobState state = JobState::kDraft;
  bool open = false;
  std::int32_t round = 0;   // how often it was reopened
  std::int32_t parts = 0;   // parts 0 .. parts-1 are stored
  std::int32_t chunks = 0;  // chunks 0 .. chunks-1 exist
  std::int64_t items = 0;
  std::int64_t created_ms = 0;  // the database's clock, since 1970
  std::string reason = {};      // why it is paused; empty if a person did it
  // What its items start with by now: as the spec says, or more if that has not been enough.
  std::int64_t memory_bytes = 0;
  // What the tag of its image stood for when it was submitted, or when the first machine pulled it;
  // empty: not known yet.
  std::string image_digest = {};
  std::string owner = {};  // who submitted it, by name; shares are between owners
  // 128 random bits in hex, of no other job anywhere: numbers begin anew in a new deployment, or in
  // a database that was restored. Empty: it was made by a server that did not know of it.
  std::string uid = {};
  bool trial = false;  // none of its items has succeeded yet, and its spec has a canary
  // The URL of the deployment's own object store: a server's word to agents, not stored. Empty:
  // there is none.
  std::string objects = {};
  bool operator==(const Job&) const = default;
};

// Where the items of a job are; the five add up to `total` in every answer.
struct Counts {
  std::int64_t total = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t cancelled = 0;
  bool operator==(const Counts&) const = default;
};

struct JobCounts {
  Job job;
  Counts counts;
};

// What distinguishes it from every other job, also from one with the same number in another
// deployment: `render-7.0123...`.
std::string UniqueId(const Job& job);
// People see `render-7`: the name for them, the number for us. The bare number will do.
std::string PublicId(const Job& job);
struct ParsedJobId {
  std::string name;  // empty: whatever it is
  JobId id;
};
std::optional<ParsedJobId> ParsePublicId(std::string_view text);

// Letters, digits, '.', '_' and '-', beginning with a letter or digit: fits in a path, a label, a
// tag.
bool IsName(std::string_view text);

}  // namespace tidemill
