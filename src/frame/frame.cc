// SPDX-License-Identifier: Apache-2.0
#include "frame/frame.h"

#include <string.h>

#include <algorithm>

#include "frame/bytes.h"
#include "frame/json.h"
#include "frame/stream.h"
#include "frame/text.h"

namespace tidemill::frame {
namespace {

// What a later version may add to Hello.
constexpr std::size_t kHelloBytesLeast = 4;
constexpr std::size_t kHelloBytes = 8;
constexpr std::size_t kHelloBytesMost = 256;
constexpr std::size_t kEndBytes = 4 * 4 + 4 * 8;
constexpr std::size_t kProgressBytes = 4;

constexpr std::uint32_t kTimedOut = 1;
constexpr std::uint32_t kStopped = 2;
constexpr std::uint32_t kSkipped = 4;
constexpr std::uint32_t kNoSecrets = 8;
constexpr std::uint32_t kOutOfMemory = 16;
constexpr std::uint32_t kAmongOthers = 32;
constexpr std::uint32_t kAllFlags =
    kTimedOut | kStopped | kSkipped | kNoSecrets | kOutOfMemory | kAmongOthers;

struct Lengths {
  std::size_t least;
  std::size_t most;
};

// How long a payload may be on its way to init; nothing if its kind may not come there.
std::optional<Lengths> LengthsToInit(Kind kind) {
  switch (kind) {
    case Kind::kRun:
    case Kind::kProgram:
      return Lengths{kRunBytesLeast, kPayloadToInit};
    case Kind::kItem:
      return Lengths{kItemBytesLeast, kPayloadToInit};
    case Kind::kRole:
      return Lengths{1, kRoleBytes};
    case Kind::kOpen:
      return Lengths{kOpenBytes, kPayloadToInit};
    case Kind::kGive:
      return Lengths{0, kStreamBytes};
    case Kind::kResize:
      return Lengths{kResizeBytes, kResizeBytes};
    case Kind::kHold:
      return Lengths{kFlagBytes, kFlagBytes};
    case Kind::kStop:
    case Kind::kNoMore:
    case Kind::kHeard:
    case Kind::kQuit:
    case Kind::kClose:
      return Lengths{0, 0};
    default:
      return std::nullopt;
  }
}

// The same on its way to the agent.
std::optional<Lengths> LengthsToAgent(Kind kind) {
  switch (kind) {
    case Kind::kHello:
      return Lengths{kHelloBytesLeast, kHelloBytesMost};
    case Kind::kLog:
      return Lengths{0, kPayloadToAgent};
    case Kind::kEnd:
      return Lengths{kEndBytes, kEndBytes + kResultBytes};
    case Kind::kProgress:
      return Lengths{kProgressBytes, kProgressBytes + kNoteBytes};
    case Kind::kHave:
      return Lengths{0, kTagBytes};
    case Kind::kOutput:
    case Kind::kErrors:
      return Lengths{1, kStreamBytes};
    case Kind::kFull:
      return Lengths{kFlagBytes, kFlagBytes};
    case Kind::kOver:
      return Lengths{kOverBytes, kOverBytes};
    default:
      return std::nullopt;
  }
}

// Between agent and person go some of the kinds that go between init and agent.
std::optional<Lengths> LengthsOf(Reader::Side side, Kind kind) {
  switch (side) {
    case Reader::Side::kInit:
      return LengthsToInit(kind);
    case Reader::Side::kAgent:
      return LengthsToAgent(kind);
    case Reader::Side::kCarrier:
      if (kind == Kind::kGive || kind == Kind::kResize) return LengthsToInit(kind);
      break;
    case Reader::Side::kPerson:
      if (kind == Kind::kOutput || kind == Kind::kErrors || kind == Kind::kOver) {
        return LengthsToAgent(kind);
      }
      break;
  }
  return std::nullopt;
}

bool HasNoNumber(Reader::Side side, Kind kind) {
  if (side == Reader::Side::kCarrier || side == Reader::Side::kPerson) return true;
  return kind == Kind::kHello || kind == Kind::kProgram || kind == Kind::kNoMore ||
         kind == Kind::kQuit || kind == Kind::kRole;
}

bool IsJson(std::string_view text) {
  JsonReader reader(text);
  return reader.Skip() && reader.AtEnd();
}

bool Between(std::int32_t value, std::int32_t least, std::int32_t most) {
  return value >= least && value <= most;
}

}  // namespace

void Reader::MakeRoom(std::size_t bytes) {
  const std::size_t rest = buffer_.size() - begin_;
  if (rest + bytes > buffer_.capacity()) {
    std::string larger;
    larger.reserve(std::max(rest + bytes, 2 * buffer_.capacity()));
    larger.append(buffer_, begin_);
    explicit_bzero(buffer_.data(), buffer_.size());
    buffer_.swap(larger);
  } else {
    memmove(buffer_.data(), buffer_.data() + begin_, rest);
    explicit_bzero(buffer_.data() + rest, buffer_.size() - rest);
    buffer_.resize(rest);
  }
  begin_ = 0;
}

void Reader::Feed(std::string_view bytes) {
  if (broken_) return;
  MakeRoom(bytes.size());
  buffer_.append(bytes);
}

void Reader::Forget() { explicit_bzero(buffer_.data(), begin_); }

std::optional<Frame> Reader::Next() {
  std::string_view bytes = std::string_view(buffer_).substr(begin_);
  if (broken_ || bytes.size() < kHeaderBytes) return std::nullopt;
  const auto kind_and_zeros = Take<std::uint32_t>(bytes);
  const auto length = Take<std::uint32_t>(bytes);
  const auto number = Take<std::uint64_t>(bytes);
  const auto kind = static_cast<Kind>(kind_and_zeros & 0xff);
  const auto lengths = LengthsOf(side_, kind);
  const bool good = kind_and_zeros <= 0xff && lengths && length >= lengths->least &&
                    length <= lengths->most && (!HasNoNumber(side_, kind) || number == 0);
  if (!good) {
    broken_ = true;
    explicit_bzero(buffer_.data(), buffer_.size());
    std::string().swap(buffer_);  // an assignment would keep the memory
    begin_ = 0;
    return std::nullopt;
  }
  if (bytes.size() < length) return std::nullopt;
  begin_ += kHeaderBytes + length;
  return Frame{kind, number, bytes.substr(0, length)};
}

std::string EncodeStop(std::uint64_t number) { return Header(Kind::kStop, number, 0); }

std::string EncodeNoMore() { return Header(Kind::kNoMore, 0, 0); }

std::optional<std::string> EncodeRole(std::string_view json) {
  if (json.empty() || json.size() > kRoleBytes) return std::nullopt;
  return Header(Kind::kRole, 0, json.size()).append(json);
}

std::string EncodeHeard(std::uint64_t number) { return Header(Kind::kHeard, number, 0); }

std::string EncodeQuit() { return Header(Kind::kQuit, 0, 0); }

std::string EncodeHello(std::uint32_t runs) {
  std::string out = Header(Kind::kHello, 0, kHelloBytes);
  Put(out, kVersion);
  Put(out, runs);
  return out;
}

std::string EncodeHave(std::uint64_t number, std::string_view tag) {
  tag = tag.substr(0, kTagBytes);
  std::string out = Header(Kind::kHave, number, tag.size());
  out.append(tag);
  return out;
}

std::optional<Hello> DecodeHello(std::string_view payload) {
  if (payload.size() < kHelloBytesLeast || payload.size() > kHelloBytesMost) return std::nullopt;
  const bool is_whole = payload.size() == kHelloBytes;
  Hello hello{.version = Take<std::uint32_t>(payload)};
  if (hello.version == 0) return std::nullopt;
  if (hello.version < kOldestVersion || hello.version > kVersion) return hello;
  if (!is_whole) return std::nullopt;
  hello.runs = Take<std::uint32_t>(payload);
  if (hello.runs > kRunsMost) return std::nullopt;
  return hello;
}

std::string EncodeLog(std::uint64_t number, std::string_view bytes) {
  bytes = bytes.substr(0, kPayloadToAgent);
  std::string out = Header(Kind::kLog, number, bytes.size());
  out.append(bytes);
  return out;
}

std::string EncodeEnd(std::uint64_t number, const End& end) {
  const std::string_view result = std::string_view(end.result).substr(0, kResultBytes);
  std::string out = Header(Kind::kEnd, number, kEndBytes + result.size());
  Put(out, end.exit);
  Put(out, end.signal);
  Put(out, end.error);
  Put(out, (end.timed_out ? kTimedOut : 0U) | (end.stopped ? kStopped : 0U) |
               (end.skipped ? kSkipped : 0U) | (end.no_secrets ? kNoSecrets : 0U) |
               (end.out_of_memory ? kOutOfMemory : 0U) | (end.among_others ? kAmongOthers : 0U));
  Put(out, end.start_ms);
  Put(out, end.duration_us);
  Put(out, end.cpu_us);
  Put(out, end.memory_bytes);
  out.append(result);
  return out;
}

std::optional<End> DecodeEnd(std::string_view payload) {
  if (payload.size() < kEndBytes || payload.size() > kEndBytes + kResultBytes) return std::nullopt;
  End end;
  end.exit = Take<std::int32_t>(payload);
  end.signal = Take<std::int32_t>(payload);
  end.error = Take<std::int32_t>(payload);
  const auto flags = Take<std::uint32_t>(payload);
  end.timed_out = (flags & kTimedOut) != 0;
  end.stopped = (flags & kStopped) != 0;
  end.skipped = (flags & kSkipped) != 0;
  end.no_secrets = (flags & kNoSecrets) != 0;
  end.out_of_memory = (flags & kOutOfMemory) != 0;
  end.among_others = (flags & kAmongOthers) != 0;
  end.start_ms = Take<std::int64_t>(payload);
  end.duration_us = Take<std::int64_t>(payload);
  end.cpu_us = Take<std::int64_t>(payload);
  end.memory_bytes = Take<std::int64_t>(payload);
  end.result = payload;
  if (!payload.empty() && !IsJson(payload)) return std::nullopt;
  if ((flags & ~kAllFlags) != 0) return std::nullopt;
  if (!Between(end.exit, 0, kExitMost) || !Between(end.signal, 0, kSignalMost) ||
      !Between(end.error, 0, kErrorMost)) {
    return std::nullopt;
  }
  // It exited, or was killed, or was never started.
  if ((end.exit != 0) + (end.signal != 0) + (end.error != 0) > 1) return std::nullopt;
  if (end.no_secrets && end.error == 0) return std::nullopt;
  const bool ended_by_us = end.timed_out || end.stopped || end.skipped;
  if (end.out_of_memory && (ended_by_us || end.exit + end.signal == 0)) return std::nullopt;
  if (end.among_others && (ended_by_us || end.out_of_memory || end.error != 0)) return std::nullopt;
  if (end.start_ms < 0 || end.duration_us < 0 || end.cpu_us < 0 || end.memory_bytes < 0) {
    return std::nullopt;
  }
  return end;
}

std::string EncodeProgress(std::uint64_t number, const Progress& progress) {
  const std::string_view note = CutText(progress.note, kNoteBytes);
  std::string out = Header(Kind::kProgress, number, kProgressBytes + note.size());
  Put(out, progress.permille);
  out.append(note);
  return out;
}

std::optional<Progress> DecodeProgress(std::string_view payload) {
  if (payload.size() < kProgressBytes || payload.size() > kProgressBytes + kNoteBytes) {
    return std::nullopt;
  }
  Progress progress;
  progress.permille = Take<std::int32_t>(payload);
  progress.note = payload;
  if (!Between(progress.permille, 0, 1000) || !IsLine(progress.note)) return std::nullopt;
  return progress;
}

}  // namespace tidemill::frame
