// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/ids.h"
#include "model/image.h"
#include "model/job.h"
#include "model/policy.h"

namespace tidemill {

// A folder that a container sees, without what is mounted below it.
struct Mount {
  std::string folder;  // of the machine, an absolute path; there before the container is opened
  std::string inside;  // where it is in the container
  bool read_only = true;
  std::string nfs = {};  // instead of `folder`: of an NFS server, as a Volume has it
  std::string nfs_options = {};
  bool operator==(const Mount&) const = default;
};

// What a container is made from.
struct ContainerSpec {
  JobId job;
  std::string image;           // empty: none was given
  Resources limits;            // what it may use; memory of 0 means no limit
  std::int64_t shm_bytes = 0;  // of /dev/shm; 0: the engine's own default
  ContainerPolicy policy = {};
  bool secret_files = false;  // its runs may have some
  // A program that stays up runs in it (see Load), and its runs are items that the program takes.
  bool loop = false;
  // Of the machine's, that it is given: paths, or names of CDI specs ("nvidia.com/gpu=0").
  std::vector<std::string> devices = {};
  // Where `mounts()` is false its items see the folders themselves. Recover does not tell them.
  std::vector<Mount> mounts = {};
  // Where its items begin: in the container, or on the machine where it has no mounts. Empty: as
  // its image says.
  std::string work_folder = {};
  // With which its image is pulled. It reaches the engine's pull alone, and is never kept.
  std::optional<RegistryLogin> login = {};
};

// A secret that the item's program reads from a file.
struct SecretFile {
  std::string name;  // in the folder $TIDEMILL_SECRETS; see frame::IsSecretFileName
  std::string content;
};

// One attempt at an item, ready to be run.
struct ItemRun {
  std::uint64_t number = 0;  // chosen by the caller; not 0, never used twice in one container
  // As Docker does it: a command replaces the image's CMD, an entrypoint replaces its ENTRYPOINT
  // and, with it, its CMD. Neither: the image's own run.
  std::optional<std::vector<std::string>> entrypoint;
  std::optional<std::vector<std::string>> command;
  // NAME=value; comes after the image's. TIDEMILL_SCRATCH is added, and TIDEMILL_SECRETS if there
  // are secret files. It may hold secrets: it reaches the container through init's socket alone,
  // never the engine's own interface, a command line or a disk.
  std::vector<std::string> env;
  // There while the item runs, in memory and for its user alone; gone before the next begins. If
  // they cannot be, or the container was not opened for it, the run ends as kNotStarted.
  std::vector<SecretFile> secret_files = {};
  Duration timeout{};  // zero: none
  Duration grace{};    // between SIGTERM and SIGKILL
  // In a loop, instead of all but number, timeout and grace: the item as its program gets it, a
  // JSON object in one line.
  std::string item = {};
  bool alone = false;    // in a loop: the program holds no other item meanwhile
  std::string tag = {};  // the caller's own name for it, which Recover tells; at most kTagBytes
};
inline constexpr std::size_t kTagBytes = 128;

// What became of it.
struct ItemEnd {
  enum class How : std::uint8_t {
    kExited,
    kSignalled,
    kNotStarted,  // there is no such program, or it cannot be run
    kTimedOut,
    kStopped,      // by Stop, before it ran or while it did
    kOutOfMemory,  // it did not succeed, and the kernel killed a process of it at the limit
    // In a loop: its program ended while it held this item and others, so nobody knows which of
    // them it was. To be run again, alone.
    kAmongOthers,
  };
  std::uint64_t number = 0;
  How how = How::kExited;
  std::int32_t exit = 0;      // the exit code, or 128 + signal; 127 or 126 if it was not started
  std::int64_t start_ms = 0;  // since 1970; 0 if it never ran
  Duration duration{};
  Duration cpu{};
  std::int64_t memory_bytes = 0;  // the peak
  // In a loop: what its program sent back, as JSON of at most kResultBytes; empty: nothing.
  std::string result = {};
  bool operator==(const ItemEnd&) const = default;
};

// Something beside the items of a container: a program, or a connection to a port.
struct StreamStart {
  std::uint64_t number = 0;  // chosen by the caller; not 0, never used twice in one container
  std::uint16_t port = 0;    // not 0: of the container's loopback. Else a program, of which:
  std::vector<std::string> command = {};
  std::vector<std::string> env = {};  // NAME=value, as that of a run; may hold secrets
  bool terminal = false;
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

// How it ended.
struct StreamEnd {
  std::int32_t exit = 0;   // of the program: its exit code, or 128 and what killed it
  std::int32_t error = 0;  // errno: it could not be started, or connected to
  bool with_item = false;  // because the item beside it has ended
  bool operator==(const StreamEnd&) const = default;
};

// What a container tells whoever opened it. On the loop thread, and never from inside a call of
// Engine or Container. Whoever gets OnEnd or OnGone may destroy the container in it.
class ContainerEvents {
 public:
  virtual ~ContainerEvents() = default;
  virtual void OnLog(std::uint64_t number, std::string_view bytes) = 0;
  // The item says how far it is.
  virtual void OnProgress(std::uint64_t /*number*/, std::int32_t /*permille*/,
                          std::string_view /*note*/) {}
  // Once for each Run, unless OnGone comes before. In their order, but for a loop.
  virtual void OnEnd(const ItemEnd& end) = 0;
  // Of a stream: what it wrote; `is_error` is of a program without a terminal.
  virtual void OnStreamBytes(std::uint64_t /*number*/, bool /*is_error*/,
                             std::string_view /*bytes*/) {}
  // While it is full no bytes are to be sent to it.
  virtual void OnStreamFull(std::uint64_t /*number*/, bool /*full*/) {}
  // Once for each OpenStream, and the last of it, unless OnGone comes before.
  virtual void OnStreamEnd(std::uint64_t /*number*/, const StreamEnd& /*end*/) {}
  // The container has ended, by itself or because it broke the rules: nothing more comes of it, and
  // of runs without an end nobody knows what became.
  virtual void OnGone(const std::string& reason) = 0;
};

// What a container uses.
struct ContainerUse {
  Duration cpu{};                 // since it was opened
  std::int64_t memory_bytes = 0;  // now
  std::int64_t disk_bytes = 0;    // what its items have written, as of a short while ago
};

// A container that is warm: any number of items run in it, one after the other, each in a fresh
// process. Leftovers of one are killed and its scratch folder is emptied before the next begins.
//
// In a loop the program that was loaded takes them, several at a time if it likes. It is started
// when there is an item for it, and started again if it ends while there is one. If it ends holding
// one item, that one has failed; holding several, each ends as kAmongOthers; holding none, and
// having taken none since it was started, the first that waits has failed as the program has.
class Container {
 public:
  // Ends it, with all that runs in it. No event comes from here on.
  virtual ~Container() = default;
  // In a loop, once and before the first Run: the program, as a run without a number.
  virtual void Load(ItemRun /*program*/) {}
  // In a loop: no Run follows. When all have ended, its program is told so and has the grace of
  // Load to end; then the container ends, as OnGone says.
  virtual void NoMore() {}
  // From now on its programs may take on the job's role with these keys (RoleKeys::document), where
  // the tools of its cloud look for them; those that are started before find nothing.
  virtual void UseRole(std::string_view /*keys*/) {}
  // Waits its turn behind those before it.
  virtual void Run(ItemRun run) = 0;
  // Ends a run: SIGTERM, then SIGKILL after its grace. Its end comes as any other; of one that is
  // over, nothing.
  virtual void Stop(std::uint64_t number) = 0;
  virtual ContainerUse Use() const = 0;
  // Begins a stream, which ends with the items that run now; if none does, at once.
  virtual void OpenStream(StreamStart /*start*/) = 0;
  // Of a stream that has ended, these do nothing. No bytes: there is no more input.
  virtual void SendToStream(std::uint64_t /*number*/, std::string_view /*bytes*/) = 0;
  virtual void ResizeStream(std::uint64_t /*number*/, std::uint16_t /*rows*/,
                            std::uint16_t /*columns*/) = 0;
  // While it is held it writes nothing, but for what is on its way.
  virtual void HoldStream(std::uint64_t /*number*/, bool /*hold*/) = 0;
  virtual void CloseStream(std::uint64_t /*number*/) = 0;
  // False from the moment that it has broken; OnGone may come a while later, with the reason.
  virtual bool usable() const = 0;
};

// A container of an earlier life of this agent that is still there, and what it was given then and
// has not told the end of.
struct FoundContainer {
  struct Run {
    std::uint64_t number = 0;
    std::string tag;
  };
  ContainerSpec spec;
  std::vector<Run> runs;
  // To be called at most once, while the engine lives; if it is not, the container ends when all
  // copies of this are gone. What became of its runs meanwhile comes as events. In a loop the
  // program is loaded.
  std::function<std::unique_ptr<Container>(ContainerEvents&)> adopt;
};

struct EngineInfo {
  std::string name;       // "docker 20.10.24", "process"
  bool enforces = false;  // the limits of a container; else an item may use more than it asked for
  std::string runtime = {};  // "runc 1.1.5": what makes its containers, if it tells
  std::vector<FoundContainer> found = {};
};

// Runs containers on this machine. Loop thread only.
class Engine {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  // Ends all containers, as far as that can be done at once; the next Recover ends the rest.
  virtual ~Engine() = default;
  // Finds what an earlier life of this agent has left running, ends whatever else it has left, and
  // says who the engine is. To be called first, and again after an outage. kUnavailable: it cannot
  // be reached; the reason tells a person what to do.
  virtual void Recover(Done<EngineInfo> done) = 0;
  // Gets the image of a spec if it is not here yet, and says what it is to the registry that it
  // names: "sha256:12"; empty: it came from none. Errors are as those of Open. `done` may be called
  // from inside.
  virtual void Fetch(const ContainerSpec& /*spec*/, Done<std::string> done) { done(std::string()); }
  // Gets the image if it is not here yet, and starts a container; `events` must outlive it.
  //   kInvalid      this spec will run on no machine: no such image, no right to it, no image named
  //   kUnavailable  try again later, or elsewhere: also when this machine does not meet the policy
  virtual void Open(const ContainerSpec& spec, ContainerEvents& events,
                    Done<std::unique_ptr<Container>> done) = 0;
  // What is known of a pull of this image that is under way, for people: "pulling its image: 120 of
  // 350 MB"; empty: there is none.
  virtual std::string PullState(const std::string& /*image*/) const { return {}; }
  // As far as it is known now: why it cannot give this device to a container, and what a person can
  // do; empty: it can.
  virtual std::string DeviceTrouble(const std::string& /*device*/) const { return {}; }
  // Whether containers have mounts; else their items see the machine's own folders.
  virtual bool mounts() const { return false; }
  // How many containers there are, or are being made or ended.
  virtual std::size_t containers() const = 0;
  // As far as it is known now: empty if containers reach neither the machine's metadata service nor
  // its own ports; else why that is not known to be so, and what a person can do.
  virtual std::string open_network() const = 0;
};

}  // namespace tidemill
