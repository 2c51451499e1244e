// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/channel_streams.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "engine/channel/channel.h"
#include "frame/stream.h"

namespace tidemill {
namespace {

// The first whose init knows streams.
constexpr std::uint32_t kVersionOfStreams = 3;
static_assert(frame::kOldestVersion < kVersionOfStreams && kVersionOfStreams <= frame::kVersion);
// Short for a person, and long for a processor.
constexpr std::chrono::milliseconds kJamPause{10};

std::string OfStream(std::uint64_t number) { return " of stream " + std::to_string(number); }

// The strings are those of `start`.
frame::Open OpenOf(const StreamStart& start) {
  frame::Open open{.port = start.port,
                   .terminal = start.terminal,
                   .size = {.rows = start.rows, .columns = start.columns}};
  if (start.port != 0) return open;
  open.program.argv = {start.command.begin(), start.command.end()};
  open.program.env = {start.env.begin(), start.env.end()};
  return open;
}

// Why there is no frame of it.
int ErrorOf(const StreamStart& start) {
  std::size_t bytes = 0;
  for (const auto* strings : {&start.command, &start.env}) {
    for (const std::string& each : *strings) {
      if (each.find('\0') != each.npos) return EINVAL;
      bytes += each.size() + 1;
    }
  }
  // Less than the whole of a payload: there are numbers before the strings.
  constexpr std::size_t kNumbers = 64;
  return bytes + kNumbers > frame::kPayloadToInit ? E2BIG : EINVAL;
}

}  // namespace

ChannelStreams::ChannelStreams(AsioLoop& loop, UnixStream& stream, ChannelEvents& events)
    : loop_(loop), stream_(stream), events_(events) {}

ChannelStreams::~ChannelStreams() { Drop(); }

void ChannelStreams::Open(const StreamStart& start) {
  if (version_ < kVersionOfStreams) return Refuse(start.number, ENOSYS);
  if (known_.size() >= frame::kStreamsMost) return Refuse(start.number, EAGAIN);
  const auto encoded = frame::EncodeOpen(start.number, OpenOf(start));
  if (!encoded) return Refuse(start.number, ErrorOf(start));
  known_[start.number] = {};
  stream_.Send(*encoded);
}

ChannelStreams::Known* ChannelStreams::Find(std::uint64_t number) {
  const auto found = known_.find(number);
  return found == known_.end() || found->second.closed ? nullptr : &found->second;
}

void ChannelStreams::Send(std::uint64_t number, std::string_view bytes) {
  Known* const known = Find(number);
  if (known == nullptr || known->input_over) return;
  if (bytes.empty()) {
    known->input_over = true;
    return stream_.Send(frame::EncodeGive(number, bytes));
  }
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), frame::kStreamBytes);
    stream_.Send(frame::EncodeGive(number, bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
  if (stream_.unsent() > kJamBytes) LookSoon(Duration::zero());
}

void ChannelStreams::LookSoon(Duration pause) {
  if (looking_ != TimerId::kNone) return;
  looking_ = loop_.After(pause, [this] {
    looking_ = TimerId::kNone;
    LookAtJam();
  });
}

void ChannelStreams::LookAtJam() {
  jammed_ = stream_.unsent() > (jammed_ ? kJamBytes / 2 : kJamBytes);
  if (jammed_) LookSoon(kJamPause);
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, known] : known_) numbers.push_back(number);
  for (const std::uint64_t number : numbers) {
    if (!TellFull(number)) return;
  }
}

bool ChannelStreams::TellFull(std::uint64_t number) {
  Known* const known = Find(number);
  const bool full = known != nullptr && (known->full || jammed_);
  if (known == nullptr || known->told_full == full) return true;
  known->told_full = full;
  const std::weak_ptr<char> alive = alive_;
  events_.OnStreamFull(number, full);
  return !alive.expired();
}

void ChannelStreams::Resize(std::uint64_t number, std::uint16_t rows, std::uint16_t columns) {
  // There is no such size: init would take us for broken.
  if (Find(number) == nullptr || rows == 0 || columns == 0) return;
  stream_.Send(frame::EncodeResize(number, {.rows = rows, .columns = columns}));
}

void ChannelStreams::Hold(std::uint64_t number, bool hold) {
  if (Find(number) != nullptr) stream_.Send(frame::EncodeHold(number, hold));
}

void ChannelStreams::Close(std::uint64_t number) {
  Known* const known = Find(number);
  if (known == nullptr) return;
  known->closed = true;
  stream_.Send(frame::EncodeClose(number));
}

void ChannelStreams::Drop() {
  loop_.Cancel(refusing_);
  loop_.Cancel(looking_);
  known_.clear();
  refused_.clear();
}

void ChannelStreams::Refuse(std::uint64_t number, int error) {
  refused_.emplace_back(number, StreamEnd{.error = error});
  if (refusing_ != TimerId::kNone) return;
  refusing_ = loop_.After(Duration::zero(), [this] {
    refusing_ = TimerId::kNone;
    TellRefused();
  });
}

void ChannelStreams::TellRefused() {
  const std::weak_ptr<char> alive = alive_;
  // What is refused meanwhile has a turn of its own.
  for (const auto& [number, end] : std::exchange(refused_, {})) {
    events_.OnStreamEnd(number, end);
    if (alive.expired()) return;
  }
}

bool ChannelStreams::IsOurs(frame::Kind kind) {
  return kind == frame::Kind::kOutput || kind == frame::Kind::kErrors ||
         kind == frame::Kind::kFull || kind == frame::Kind::kOver;
}

std::string ChannelStreams::Take(const frame::Frame& frame) {
  const auto found = known_.find(frame.number);
  if (found == known_.end()) return "a frame" + OfStream(frame.number) + ", which is not open";
  if (frame.kind == frame::Kind::kOver) return TakeOver(frame);
  if (frame.kind != frame::Kind::kFull) {
    if (found->second.closed) return "";
    events_.OnStreamBytes(frame.number, frame.kind == frame::Kind::kErrors, frame.payload);
    return "";
  }
  const auto full = frame::DecodeFlag(frame.payload);
  if (!full) return "a malformed Full" + OfStream(frame.number);
  found->second.full = *full;
  TellFull(frame.number);
  return "";
}

std::string ChannelStreams::TakeOver(const frame::Frame& frame) {
  const auto over = frame::DecodeOver(frame.payload);
  if (!over) return "a malformed Over" + OfStream(frame.number);
  known_.erase(frame.number);
  events_.OnStreamEnd(frame.number,
                      {.exit = over->exit, .error = over->error, .with_item = over->with_item});
  return "";
}

}  // namespace tidemill
