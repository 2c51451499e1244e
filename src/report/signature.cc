// SPDX-License-Identifier: Apache-2.0
#include "report/signature.h"

#include "report/alike.h"
#include "report/error_line.h"

namespace tidemill {
namespace {

std::string Joined(const ErrorLine& error, std::string_view item) {
  std::string place = Alike(error.place, item);
  if (!place.empty()) place.insert(0, " at ");
  if (place.size() > kSignatureBytes / 2) place.clear();
  std::string text = Alike(error.text, item);
  CutUtf8(text, kSignatureBytes - place.size());
  return text + place;
}

}  // namespace

std::string SignatureOfCause(Cause cause, std::int32_t exit) {
  switch (cause) {
    case Cause::kSucceeded:
    case Cause::kCancelled:
    case Cause::kInterrupted:
      return "";
    case Cause::kLost:
      return "machine lost";
    case Cause::kTimeout:
      return "timeout";
    case Cause::kOutOfMemory:
      return "out of memory";
    case Cause::kMachineFault:
      return "machine fault";
    case Cause::kImage:
      return "its image cannot be had";
    case Cause::kFailed:
    case Cause::kRejectedOutput:
      break;
  }
  if (exit > 128) return "signal " + std::to_string(exit - 128);
  if (exit == 0 && cause == Cause::kRejectedOutput) return "rejected output";
  return "exit code " + std::to_string(exit);
}

// What was killed for its time or its memory says nothing of that in its last lines.
std::string SignatureOf(const FailureSeen& seen) {
  const bool speaks = seen.cause == Cause::kFailed || seen.cause == Cause::kRejectedOutput;
  if (speaks) {
    std::string_view tail = seen.tail;
    if (tail.size() > kTailBytes) tail.remove_prefix(tail.size() - kTailBytes);
    const std::string text = CleanText(tail);
    std::string signature = Joined(FindErrorLine(text), seen.item);
    if (!signature.empty()) return signature;
  }
  return SignatureOfCause(seen.cause, seen.exit);
}

}  // namespace tidemill
