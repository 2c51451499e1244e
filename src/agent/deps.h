// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/link.h"
#include "agent/stream_link.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/random.h"
#include "data/item_data.h"
#include "data/job_cache.h"
#include "engine/engine.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/machine_place.h"

namespace tidemill {

// One attempt, as its log is found.
struct LogPlace {
  JobId job;
  std::int64_t item = 0;
  std::int32_t round = 0;
  std::int32_t attempt = 1;
};

// Where the output of items goes. Loop thread only; never blocks: what cannot be kept is left out,
// and the log says so.
class ItemLogs {
 public:
  virtual ~ItemLogs() = default;
  // What is appended from now on is of this session. New: nothing was before it, also not by an
  // agent that was here earlier.
  virtual void UseSession(const std::string& session, bool is_new) = 0;
  // The attempt was begun by an agent that was here earlier, whose last words of it may be lost.
  // Comes before anything is appended to it.
  virtual void Resume(const LogPlace& place) = 0;
  // Where in the object store the logs of a job are, with a slash at the end; empty: in none. Comes
  // before anything is appended to them, and may come again.
  virtual void StoreAt(JobId job, const std::string& url) = 0;
  virtual void Append(const LogPlace& place, std::string_view bytes) = 0;
  // Nothing more comes of this attempt. The name, below StoreAt's URL, of the pack that will have
  // the end of its log; empty: it has none there.
  virtual std::string Close(const LogPlace& place) = 0;
  // What one attempt may write from now on, if that is less than it may anyway.
  virtual void LimitAttempts(std::int64_t bytes) = 0;
  // Somebody reads the logs of these jobs, and of no others, as they come: they are stored soon.
  virtual void Follow(const std::vector<JobId>& jobs) = 0;
};

// Code that jobs brought with them, as folders of this machine. Loop thread only.
class JobCode {
 public:
  // Its path; while somebody holds it, it stays.
  using Folder = std::shared_ptr<const std::string>;
  virtual ~JobCode() = default;
  // `done` comes once, and never from inside the call. kInvalid, kNotFound: it cannot be had or
  // unpacked, whatever is tried.
  virtual void Get(const std::string& url, const std::string& sha256,
                   std::function<void(Result<Folder>)> done) = 0;
};

// What an agent keeps over a restart. Loop thread only.
class AgentMemory {
 public:
  virtual ~AgentMemory() = default;
  // From now on this is the agent's session. The token is empty until the agent has joined.
  virtual void Keep(const SessionPass& pass) = 0;
};

// A device that one container has at a time.
struct MachineDevice {
  std::string kind;
  // "/dev/nvidia0"; or, of one that a CDI spec describes, its whole name "nvidia.com/gpu=0".
  std::string path;
  std::vector<std::string> nodes = {};  // of a spec's: its device nodes on the machine
  int cores = 0;                        // of a kind whose programs are told them; 0: nobody knows
  std::string model = {};               // this and the next two: see DeviceCount
  std::int64_t memory = 0;
  std::int32_t version = 0;

  bool of_spec() const { return !path.starts_with('/'); }
  bool operator==(const MachineDevice&) const = default;
};

// Looks whether devices work. Loop thread only.
class DeviceCheck {
 public:
  virtual ~DeviceCheck() = default;
  // Why each of them does not, in their order; empty: it does. `done` comes once, and never from
  // inside the call. One look at a time.
  virtual void Look(const std::vector<MachineDevice>& devices,
                    std::function<void(std::vector<std::string>)> done) = 0;
};

// The world as an agent sees it; all of it outlives the agent.
struct AgentDeps {
  Loop& loop;
  ServerLink& link;
  Engine& engine;
  Random& random;
  Log& log;
  ItemLogs& logs;
  AgentMemory& memory;
  ItemData* data = nullptr;       // null: jobs with inputs or outputs cannot run here
  JobCode* code = nullptr;        // null: jobs that bring code cannot run here
  JobCache* cache = nullptr;      // null: jobs with a cache cannot run here
  DeviceCheck* check = nullptr;   // null: devices are taken to work
  StreamLink* streams = nullptr;  // null: nobody gets into what runs here, nor hears why
};

struct AgentLimits {
  // Leases are asked for while what is held lasts no longer than this, so that a slot does not wait
  // for a round trip.
  Duration ask_ahead = std::chrono::seconds(2);
  // Runs are handed to a container ahead, as many as it ends in this time: init then goes from one
  // to the next without waiting for us.
  Duration run_ahead = std::chrono::milliseconds(20);
  int most_ahead = 31;
  // Items that a loop's container is given: init takes no more.
  int most_in_loop = 1024;
  // Outcomes are told at least this often: a report costs a row, and people like to see progress.
  Duration tell_every = std::chrono::seconds(3);
  // Between two syncs, so that many short leases do not become as many syncs.
  Duration sync_gap = std::chrono::milliseconds(50);
  Duration first_retry = std::chrono::milliseconds(100);
  Duration longest_retry = std::chrono::seconds(5);
  // A container without work stays warm this long: the next lease of its job is often on its way.
  Duration idle_container = std::chrono::seconds(10);
  // Containers that are being made at the same time: more would only make all of them slower.
  int opening_at_once = 4;
  // A job whose containers cannot be opened for so long has a trouble of its own, and no part of
  // the machine: longer than an engine takes to start again.
  Duration job_failing = std::chrono::seconds(5);
  // After the engine could not be reached for this long, what waits goes back to the server.
  Duration engine_outage = std::chrono::seconds(30);
  // A job that cannot run here is tried again after this.
  Duration trouble_rest = std::chrono::seconds(60);
  // After a lease of a job that cannot run here, no other is asked for in this time.
  Duration ask_rest = std::chrono::seconds(5);
  // A machine whose disk is full or broken takes nothing for this long: what filled it may be gone
  // by then. After a second time in a row, for longer: a person must look at it.
  Duration fault_rest = std::chrono::seconds(60);
  Duration away_rest = std::chrono::minutes(10);
  // An item whose container ended this often under it has failed.
  int most_strikes = 3;
  // A run that init has not ended this long after it should have is ended from outside. Init needs
  // some of it to kill what is left and to empty the scratch folder, on a machine that may be short
  // of everything. It is less than the 30 s after which init itself gives up: then nobody could
  // tell any more that the run's time was over.
  Duration late_margin = std::chrono::seconds(25);
  // When the agent leaves its items have this long, or their own grace if that is less, to end. A
  // spot machine has two minutes, or on some clouds half a one, in all.
  Duration leave_grace = std::chrono::seconds(15);
  // Then, the last checkpoints of those that have ended are waited for, this long.
  Duration leave_save = std::chrono::seconds(8);
  // For the last sync of an agent that leaves.
  Duration leave_time = std::chrono::seconds(10);
  // The last part of the time that a notice leaves is for items to end, or their own grace if that
  // is less, for their last checkpoints, for the last sync, and for the logs. Until then items may
  // end by themselves. A notice that leaves less leaves to each its share.
  Duration notice_grace = std::chrono::seconds(20);
  Duration notice_save = std::chrono::seconds(30);
  Duration notice_time = std::chrono::seconds(5);
  Duration notice_logs = std::chrono::seconds(5);
  // Outputs that cannot be stored for this long are given up, and their items run again: by then
  // another machine may have more luck.
  Duration store_outage = std::chrono::minutes(10);
  // A checkpoint that changed while it was saved is tried again after this: the item may be done
  // with it by then.
  Duration save_again = std::chrono::seconds(5);
  // The last checkpoint of an attempt is waited for, this long; its slot is free meanwhile.
  Duration last_save = std::chrono::minutes(10);
  // Between two looks at the devices. A vendor's tool may take a second for each and keep its
  // driver busy meanwhile; and items that begin on a device that fails are tried again, at the cost
  // of this.
  Duration device_rest = std::chrono::seconds(30);
  // What no event says is looked at this often: disks, late runs, idle containers.
  Duration tick = std::chrono::seconds(1);
};

// Why an agent has left by itself.
enum class AgentEnd : std::uint8_t {
  kNotice,  // its machine is taken away, or may be soon: it must not join again
  kGaveUp,  // it heard no server for too long: its machine costs, and is of no use
};

struct AgentOptions {
  std::string machine;
  std::string machine_key;
  // Asked for each join with a new session: a person may have put a fresh one there.
  std::function<std::string()> join_token = [] { return std::string(); };
  // Instead of a join token, asked for in the same way: what the machine's cloud signs. Its `done`
  // comes once, never from inside.
  std::function<void(std::function<void(Result<MachineProof>)> done)> proof = {};
  std::string pool = {};  // with a proof: where the machine says that it belongs
  std::string project = {};
  MachinePlace place = {};
  // No server has taken it for this long: it leaves, and its machine is ended. Zero: never.
  Duration give_up = {};
  // It has left by itself; the process is to end. Called once at most.
  std::function<void(AgentEnd)> ended = [](AgentEnd) {};
  Resources shape;  // its devices are those below, counted
  std::vector<MachineDevice> devices = {};
  // That its pool may lend to jobs; see VolumeTerms.
  std::vector<std::string> host_folders = {};
  // Why this machine's disk takes no more; empty: it does. Asked each second.
  std::function<std::string()> disk_trouble = [] { return std::string(); };
  // What inputs may take of the disk before none is fetched ahead any more.
  std::int64_t data_bytes = std::int64_t{10} << 30;
  bool streams = true;   // people may get into what runs here
  SessionPass pass;      // of its last life, or zero: a new session is made
  std::int32_t run = 0;  // how often it was started; higher each time
  AgentLimits limits;
};

}  // namespace tidemill
