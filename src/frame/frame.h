// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What an agent and the init of one of its containers say to each other, as bytes on a stream.
//
//   frame │ kind: 1 │ zero: 3 │ length of the payload: 4 │ number of the run: 8 │ payload
//
// All numbers are little-endian. The number is chosen by the agent for each run and is never used
// twice in one container; Hello, Program, Role, NoMore and Quit have none (0).
//
//   init ──Hello────▶ agent    once, first; how many runs it has
//        ──Have────▶           for each of them, whether it waits, runs or has ended
//        ◀──Run──────          waits its turn behind those before it
//        ◀──Stop─────          of a run: ends it if it runs, skips it if it waits, else nothing
//        ──Log─────▶           what the run wrote, in order
//        ──Progress▶           how far the run is, as it says itself
//        ──End─────▶           once for each Run, in the order of the Runs
//        ◀──Role─────          what the runs may be in a cloud from now on, for some time
//        ◀──Heard────          of a run: its End has come, and init may forget it
//        ◀──▶                  streams into the container: see stream.h
//        ◀──Quit─────          nothing more is wanted: init ends all and then itself
//
// Where there is a path to connect to again, a stream that is cut without a Quit is no end: init
// goes on, connects again, says Hello, what it has, and each End that was not heard once more.
//
// A container may be a loop instead: its agent sends a Program, once and before all else, and then
// Items where it would send Runs. The program stays up and takes items; their Ends come in any
// order. NoMore says that no Item follows: once all have ended the program ends, and init with it.
//
// A container is hostile and the agent may be root, so the reader of an agent believes nothing: one
// byte that is not as above ends the stream. No exceptions: init is compiled without.
namespace tidemill::frame {

inline constexpr std::uint32_t kVersion = 3;
// An init of this version is as good, but for streams, which it does not know. It may still run in
// a container that was there before its agent was upgraded.
inline constexpr std::uint32_t kOldestVersion = 2;

enum class Kind : std::uint8_t {
  kRun = 1,
  kStop = 2,
  kProgram = 3,
  kItem = 4,
  kNoMore = 5,
  kHeard = 6,
  kQuit = 7,
  kRole = 8,
  kOpen = 9,
  kGive = 10,
  kResize = 11,
  kHold = 12,
  kClose = 13,
  kHello = 16,
  kLog = 17,
  kEnd = 18,
  kProgress = 19,
  kHave = 20,
  kOutput = 21,
  kErrors = 22,
  kFull = 23,
  kOver = 24,
};

inline constexpr std::size_t kHeaderBytes = 16;
// To init: a command and an environment in which an item of the largest size stands a few times.
inline constexpr std::size_t kPayloadToInit = 1024 * 1024;
// To the agent: the bytes of one read of a pipe.
inline constexpr std::size_t kPayloadToAgent = 64 * 1024;

struct Frame {
  Kind kind = Kind::kHello;
  std::uint64_t number = 0;
  std::string_view payload;  // valid until the reader is touched again
};

// Cuts a stream into frames. Holds at most one frame and one read of what comes after it, if all
// that Next has is taken before more is fed.
class Reader {
 public:
  // Who reads. The last two are the ends of a stream on its way between agent and person.
  enum class Side { kInit, kAgent, kCarrier, kPerson };
  explicit Reader(Side side) : side_(side) {}

  void Feed(std::string_view bytes);
  // The next whole frame that may come to this side, with a payload of a length that its kind may
  // have. Nothing: feed more, or the stream is broken.
  std::optional<Frame> Next();
  // What was fed cannot be a stream of frames. Stays so.
  bool broken() const { return broken_; }
  // The memory that it has.
  std::size_t held_bytes() const { return buffer_.capacity(); }
  // Wipes what was handed out. What it has moved or given back meanwhile is wiped already: a Run
  // may hold secrets.
  void Forget();

 private:
  // Makes room behind what was not handed out yet.
  void MakeRoom(std::size_t bytes);

  const Side side_;
  std::string buffer_;
  std::size_t begin_ = 0;  // what is before it has been handed out
  bool broken_ = false;
};

// --- to init ---

// A file that the program of a run finds in $TIDEMILL_SECRETS.
struct SecretFile {
  std::string_view name;
  std::string_view content;
};

// As many and as large as a job may name; the largest number of files of the largest size leaves
// half of a frame for the command.
inline constexpr std::size_t kSecretFilesMost = 16;
inline constexpr std::size_t kSecretFileBytes = 32 * 1024;
inline constexpr std::size_t kSecretNameBytes = 64;
// One segment of a path that names nothing special: letters, digits, '.', '_' and '-', of which the
// first is a letter or digit.
bool IsSecretFileName(std::string_view name);

// What the agent calls a run, for itself; any bytes.
inline constexpr std::size_t kTagBytes = 128;

struct Run {
  std::int64_t timeout_us = 0;  // 0: none
  std::int64_t grace_us = 0;    // between SIGTERM and SIGKILL, after a timeout or a Stop
  std::vector<std::string_view> argv = {};  // at least one
  std::vector<std::string_view> env = {};   // NAME=value; replaces what init's own environment has
  std::vector<SecretFile> secret_files = {};  // by name, no two of the same
  std::string_view tag = {};
};

// Nothing if it is too long for one frame, has no argv, a negative time, a string with a NUL, or
// secret files or a tag that are none.
//
//   payload │ timeout: 8 │ grace: 8 │ how many argv: 4 │ how many env: 4 │ length of the tag: 4
//           │ tag │ argv and env, each + NUL
//           │ if there are secret files: how many: 4 │ for each: name + NUL │ length: 4 │ content
std::optional<std::string> EncodeRun(std::uint64_t number, const Run& run);
// The strings are those of the payload; each but for the contents is followed by a NUL there.
std::optional<Run> DecodeRun(std::string_view payload);
std::string EncodeStop(std::uint64_t number);
std::string EncodeHeard(std::uint64_t number);
std::string EncodeQuit();

// The program of a loop: a Run whose timeout and tag say nothing, and whose grace is what it has to
// end in after NoMore.
std::optional<std::string> EncodeProgram(const Run& program);
std::string EncodeNoMore();

// The keys of a role, as programs are answered that ask init for them: JSON. A token of the cloud's
// may have some KiB.
inline constexpr std::size_t kRoleBytes = 32 * 1024;
// Nothing if it is too long, or empty.
std::optional<std::string> EncodeRole(std::string_view json);

// An item of a loop.
struct Item {
  std::int64_t timeout_us = 0;  // since the program took it; 0: none
  std::int64_t grace_us = 0;
  std::uint64_t name = 0;  // what the program calls it: the number in its `json`
  bool alone = false;      // the program may hold no other item meanwhile
  std::string_view tag = {};
  std::string_view json = {};  // an object in one line, as the program gets it
};
// Nothing if it is too long for one frame or has a negative time, a tag that is none, or no json.
//
//   payload │ timeout: 8 │ grace: 8 │ name: 8 │ flags: 4 │ length of the tag: 4 │ tag │ json
std::optional<std::string> EncodeItem(std::uint64_t number, const Item& item);
// The strings are those of the payload.
std::optional<Item> DecodeItem(std::string_view payload);

// --- to the agent ---

struct Hello {
  std::uint32_t version = kVersion;
  std::uint32_t runs = 0;  // as many Haves follow
  bool operator==(const Hello&) const = default;
};
// An honest agent gives no init more: those that wait or are held, and Ends on their way.
inline constexpr std::uint32_t kRunsMost = 4096;
std::string EncodeHello(std::uint32_t runs = 0);
// Nothing: not a Hello that any version sends. Of another version only that is known.
std::optional<Hello> DecodeHello(std::string_view payload);

// `tag` is the run's own.
std::string EncodeHave(std::uint64_t number, std::string_view tag);

// At most kPayloadToAgent bytes; what is over is not in the frame.
std::string EncodeLog(std::uint64_t number, std::string_view bytes);

// What wait4 can tell, and the largest errno of the kernel.
inline constexpr std::int32_t kExitMost = 255;
inline constexpr std::int32_t kSignalMost = 64;
inline constexpr std::int32_t kErrorMost = 4095;

// At most one of exit, signal and error is not 0.
struct End {
  std::int32_t exit = 0;    // the exit code; 0 if it did not exit by itself
  std::int32_t signal = 0;  // what killed it, or 0
  std::int32_t error = 0;   // errno, if it could not be started
  bool timed_out = false;   // its time was over before it ended
  bool stopped = false;     // by Stop, while it ran
  bool skipped = false;     // by Stop, before it ran
  bool no_secrets = false;  // it was not started because its secret files could not be written
  // It did not succeed, and meanwhile the kernel killed a process of the container for its memory.
  bool out_of_memory = false;
  bool among_others = false;  // in a loop: its program ended while it held this item and others
  std::int64_t start_ms = 0;  // the container's clock, since 1970
  std::int64_t duration_us = 0;
  std::int64_t cpu_us = 0;
  std::int64_t memory_bytes = 0;  // of its largest process
  std::string result = {};        // in a loop: what its program sent back, as JSON; empty: nothing
  bool operator==(const End&) const = default;
};
// Of a result: a row in a table, not a file.
inline constexpr std::size_t kResultBytes = 4096;
std::string EncodeEnd(std::uint64_t number, const End& end);
// Nothing for a payload that no true End has: a result that is too long or no JSON, a number out of
// its range or below 0, two of exit, signal and error at once, no_secrets without an error,
// out_of_memory of what succeeded or was ended by us, an unknown flag.
std::optional<End> DecodeEnd(std::string_view payload);

// How far a run is.
struct Progress {
  std::int32_t permille = 0;  // 0 to 1000
  std::string_view note = {};
  bool operator==(const Progress&) const = default;
};
inline constexpr std::size_t kNoteBytes = 200;
// The note is cut at its limit, and it must be a line.
std::string EncodeProgress(std::uint64_t number, const Progress& progress);
// Nothing if a number is out of its range, or the note is too long or no line.
std::optional<Progress> DecodeProgress(std::string_view payload);

}  // namespace tidemill::frame
