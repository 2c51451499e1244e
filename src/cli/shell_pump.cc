// SPDX-License-Identifier: Apache-2.0
#include "cli/shell_pump.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/console.h"
#include "cli/format.h"

namespace tidemill::cli {
namespace {

// As a shell says it of a program that it cannot start.
constexpr int kNoSuchProgram = 127;
constexpr int kNoProgram = 126;

std::string Gives(std::string_view bytes) {
  std::string frames;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, frame::kStreamBytes);
    frames += frame::EncodeGive(0, piece);
    bytes.remove_prefix(piece.size());
  }
  return frames;
}

}  // namespace

std::string ShellKeys::Pass(std::string_view typed) {
  std::string passed;
  for (const char key : typed) {
    if (place_ == Place::kLeft) break;
    if (place_ == Place::kLineBegin && key == '~') {
      place_ = Place::kTilde;
      continue;
    }
    if (place_ == Place::kTilde && key == '.') {
      place_ = Place::kLeft;
      break;
    }
    if (place_ == Place::kTilde && key != '~') passed += '~';
    passed += key;
    place_ = key == '\r' || key == '\n' ? Place::kLineBegin : Place::kInLine;
  }
  return passed;
}

std::string ShellKeys::Rest() {
  if (place_ != Place::kTilde) return "";
  place_ = Place::kInLine;
  return "~";
}

std::string ShellPump::Type(std::string_view bytes) {
  if (end_) return "";
  if (!has_keys_) return Gives(bytes);
  std::string frames = Gives(keys_.Pass(bytes));
  if (keys_.left()) End({.kind = ShellEnd::Kind::kLeft});
  return frames;
}

std::string ShellPump::EndInput() {
  if (end_) return "";
  return Gives(keys_.Rest()) + frame::EncodeGive(0, "");
}

void ShellPump::Take(std::string_view bytes) {
  if (end_) return;
  reader_.Feed(bytes);
  while (!end_) {
    const auto next = reader_.Next();
    if (!next) break;
    TakeFrame(*next);
  }
  if (reader_.broken()) Lose("what came is no stream of a shell");
}

void ShellPump::TakeFrame(const frame::Frame& frame) {
  switch (frame.kind) {
    case frame::Kind::kOutput:
      return WriteTo(out_, frame.payload);
    case frame::Kind::kErrors:
      return WriteTo(errors_, frame.payload);
    case frame::Kind::kOver: {
      const auto over = frame::DecodeOver(frame.payload);
      if (!over) return Lose("what came is no end of a shell");
      return End({.over = *over});
    }
    default:
      return Lose("what came is not for a person");
  }
}

void ShellPump::WriteTo(const Write& write, std::string_view bytes) {
  if (const auto wrong = write(bytes)) {
    End({.kind = ShellEnd::Kind::kNoOutput, .reason = *wrong});
  }
}

void ShellPump::Lose(const std::string& reason) {
  End({.kind = ShellEnd::Kind::kLost, .reason = reason});
}

void ShellPump::End(ShellEnd end) {
  if (!end_) end_ = std::move(end);
}

ShellFarewell FarewellOf(const ShellEnd& end, const std::string& job, std::int64_t item,
                         const std::string& program) {
  const std::string again = "tidemill shell " + job + " --item " + std::to_string(item);
  switch (end.kind) {
    case ShellEnd::Kind::kLeft:
      return {kInterrupted, "left; the item goes on. Open another:  " + again};
    case ShellEnd::Kind::kLost:
      return {kNoServer, "the connection to the shell is lost: " + Printable(end.reason),
              "What it ran was ended; the item goes on. Open another:  " + again};
    case ShellEnd::Kind::kNoOutput:
      return {kFailed, end.reason};
    case ShellEnd::Kind::kOver:
      break;
  }
  if (end.over.error != 0) {
    return {end.over.error == ENOENT ? kNoSuchProgram : kNoProgram,
            "cannot start '" + Printable(program) +
                "' in the container: " + std::strerror(end.over.error)};
  }
  if (end.over.with_item) {
    return {end.over.exit, "the item has ended, and the shell with it",
            "See it:  tidemill logs " + job + " --item " + std::to_string(item)};
  }
  return {end.over.exit};
}

}  // namespace tidemill::cli
