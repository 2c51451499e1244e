// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/item_end.h"

#include <cerrno>

#include "model/outcome.h"

namespace tidemill {
namespace {

// As shells have it.
constexpr int kNoSuchProgram = 127;
constexpr int kCannotBeRun = 126;
constexpr int kSignalBase = 128;
// A program's name is for people; nobody reads more of it.
constexpr std::size_t kNameShown = 200;

ItemEnd::How HowOf(const frame::End& end) {
  if (end.error != 0) return ItemEnd::How::kNotStarted;
  if (end.timed_out) return ItemEnd::How::kTimedOut;
  if (end.stopped || end.skipped) return ItemEnd::How::kStopped;
  if (end.out_of_memory) return ItemEnd::How::kOutOfMemory;
  if (end.among_others) return ItemEnd::How::kAmongOthers;
  return end.signal != 0 ? ItemEnd::How::kSignalled : ItemEnd::How::kExited;
}

}  // namespace

static_assert(frame::kResultBytes == kResultBytes);

ItemEnd ItemEndOf(std::uint64_t number, const frame::End& end) {
  // 127 would say that there is no such program.
  const int error = end.no_secrets ? EIO : end.error;
  ItemEnd item = error != 0 ? NotStarted(number, error) : ItemEnd{.number = number};
  item.how = HowOf(end);
  if (end.error == 0) item.exit = end.signal != 0 ? kSignalBase + end.signal : end.exit;
  item.start_ms = end.start_ms;
  item.duration = Duration(end.duration_us);
  item.cpu = Duration(end.cpu_us);
  item.memory_bytes = end.memory_bytes;
  item.result = end.result;
  return item;
}

ItemEnd NotStarted(std::uint64_t number, int error) {
  return {.number = number,
          .how = ItemEnd::How::kNotStarted,
          .exit = error == ENOENT ? kNoSuchProgram : kCannotBeRun};
}

std::string CannotRun(std::string_view program, std::string_view why) {
  std::string line = "tidemill: cannot run";
  if (!program.empty()) line.append(" '").append(program.substr(0, kNameShown)).append("'");
  return line.append(": ").append(why).append("\n");
}

std::string NoSecretFiles(std::string_view why) {
  return std::string("tidemill: cannot write its secret files: ").append(why).append("\n");
}

}  // namespace tidemill
