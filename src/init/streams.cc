// SPDX-License-Identifier: Apache-2.0
#include "init/streams.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "init/terminal.h"
#include "init/try_again.h"

namespace tidemill::init {
namespace {

// Between being told to write no more and being told to go on the input of a stream is not idle.
constexpr std::size_t kFullBytes = 64 * 1024;
constexpr std::size_t kGoOnBytes = 16 * 1024;
// Less than what items may have unsent, so that these never wait for streams.
constexpr std::size_t kMaxStreamUnsent = 128 * 1024;
// At a time of stdout and of stderr, so that one stream has little of a turn.
constexpr std::size_t kStreamReadBytes = 16 * 1024;
// Between hanging up and SIGKILL: a shell passes it on, an editor saves.
constexpr std::int64_t kHangUpUs = 2'000'000;
// More than the kernel keeps of what was written to a terminal.
constexpr std::size_t kTerminalBytes = 128 * 1024;

void CloseOne(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

// Somebody whom nobody can kill may have been given the other end, and write on.
std::size_t LeftIn(int fd, bool terminal) {
  if (fd < 0) return 0;
  // One does not tell of what it has taken but not passed on yet, which a read waits for.
  if (terminal) return kTerminalBytes;
  int left = 0;
  return ioctl(fd, FIONREAD, &left) == 0 && left > 0 ? static_cast<std::size_t>(left) : 0;
}

}  // namespace

OpenStreams::~OpenStreams() {
  for (Stream& each : streams_) {
    for (int* fd : {&each.input, &each.output, &each.errors}) CloseOne(*fd);
  }
}

OpenStreams::Stream* OpenStreams::Find(std::uint64_t number) {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [number](const Stream& each) {
    return each.number == number && !each.muted;
  });
  return found == streams_.end() ? nullptr : &*found;
}

// Those that are muted are gone in a moment.
std::size_t OpenStreams::Count() const {
  return static_cast<std::size_t>(std::count_if(streams_.begin(), streams_.end(),
                                                [](const Stream& each) { return !each.muted; }));
}

bool OpenStreams::MayPut() const { return link_.unsent_bytes() < kMaxStreamUnsent; }

void OpenStreams::Open(std::uint64_t number, const frame::Open& open, bool has_role) {
  if (Count() >= frame::kStreamsMost) {
    return link_.Put(frame::EncodeOver(number, {.error = EAGAIN}));
  }
  streams_.push_back({.number = number, .port = open.port});
  Stream& stream = streams_.back();
  int error = 0;
  if (open.port != 0) {
    error = Connect(stream);
  } else if (open.terminal) {
    error = StartOnTerminal(stream, open, has_role);
  } else {
    error = StartOnPipes(stream, open, has_role);
  }
  if (error != 0) End(stream, {.error = error});
  if (stream.pid > 0) stream.score.Raise(stream.pid);
  Sweep();
}

// --- what the agent says ---

bool OpenStreams::Take(const frame::Frame& frame) {
  Stream* const stream = Find(frame.number);
  bool good = true;
  if (frame.kind == frame::Kind::kResize) {
    const auto size = frame::DecodeResize(frame.payload);
    good = size.has_value();
    if (size && stream != nullptr && stream->terminal) ResizePty(stream->input, *size);
  } else if (frame.kind == frame::Kind::kHold) {
    const auto hold = frame::DecodeFlag(frame.payload);
    good = hold.has_value();
    if (hold && stream != nullptr) stream->hold = *hold;
  } else if (stream == nullptr) {
    return true;
  } else if (frame.kind == frame::Kind::kGive) {
    good = Give(*stream, frame.payload);
  } else {
    Close(*stream);
  }
  Sweep();
  return good;
}

bool OpenStreams::Give(Stream& stream, std::string_view bytes) {
  if (stream.input < 0 || stream.input_ended) return true;
  if (stream.unwritten.size() + bytes.size() > frame::kStreamUnwrittenMost) return false;
  stream.unwritten.append(bytes);
  if (bytes.empty()) {
    stream.input_ended = true;
    if (stream.terminal) stream.unwritten.push_back(EndOfInput(stream.input));
  }
  Write(stream);
  if (!stream.full && stream.unwritten.size() > kFullBytes) {
    stream.full = true;
    link_.Put(frame::EncodeFull(stream.number, true));
  }
  return true;
}

void OpenStreams::Close(Stream& stream) {
  if (std::exchange(stream.closing, true)) return;
  for (int* fd : {&stream.input, &stream.output, &stream.errors}) CloseOne(*fd);
  stream.unwritten.clear();
  if (stream.pid == 0) return End(stream, {.exit = stream.exit});
  kill(-stream.pid, SIGHUP);
  kill(-stream.pid, SIGCONT);  // for one that was stopped
  stream.deadline_us = After(NowUs(), kHangUpUs);
}

// --- bytes ---

void OpenStreams::Write(Stream& stream) {
  if (stream.connecting || stream.input < 0) return;
  std::size_t written = 0;
  bool broken = false;
  while (written < stream.unwritten.size() && !broken) {
    const ssize_t size =
        write(stream.input, stream.unwritten.data() + written, stream.unwritten.size() - written);
    if (size < 0 && IsForLater(errno)) break;
    broken = size < 0;
    if (!broken) written += static_cast<std::size_t>(size);
  }
  // Nobody reads it any more; what is written there may still come.
  if (broken) {
    stream.unwritten.clear();
    stream.input_ended = true;
  } else {
    stream.unwritten.erase(0, written);
  }
  if (stream.input_ended && stream.unwritten.empty()) EndInput(stream);
  if (stream.full && stream.unwritten.size() < kGoOnBytes) {
    stream.full = false;
    link_.Put(frame::EncodeFull(stream.number, false));
  }
}

void OpenStreams::ReadOne(Stream& stream, bool of_errors) {
  int& fd = of_errors ? stream.errors : stream.output;
  std::size_t& left = of_errors ? stream.errors_left : stream.output_left;
  if (fd < 0 || stream.hold || !MayPut()) return;
  char bytes[kStreamReadBytes];
  const std::size_t most = stream.exited ? std::min(sizeof(bytes), left) : sizeof(bytes);
  const ssize_t size = most == 0 ? 0 : read(fd, bytes, most);
  if (size > 0) {
    const std::string_view text(bytes, static_cast<std::size_t>(size));
    link_.Put(of_errors ? frame::EncodeErrors(stream.number, text)
                        : frame::EncodeOutput(stream.number, text));
    if (stream.exited) left -= text.size();
  } else if (size == 0 || stream.exited || !IsForLater(errno)) {
    CloseOne(fd);
  }
}

void OpenStreams::Read(Stream& stream) {
  ReadOne(stream, false);
  ReadOne(stream, true);
}

// --- turns ---

void OpenStreams::AddPolls(std::vector<pollfd>& polls) {
  const bool may_put = MayPut();
  for (Stream& each : streams_) {
    each.polled = polls.size();
    const bool writes = each.connecting || !each.unwritten.empty();
    const bool reads = may_put && !each.hold && !each.connecting;
    // Without interest they are not polled at all: a hang-up would be told again and again.
    polls.push_back({.fd = writes ? each.input : -1, .events = POLLOUT, .revents = 0});
    polls.push_back({.fd = reads ? each.output : -1, .events = POLLIN, .revents = 0});
    polls.push_back({.fd = reads ? each.errors : -1, .events = POLLIN, .revents = 0});
  }
}

void OpenStreams::Serve(const std::vector<pollfd>& polls) {
  for (Stream& each : streams_) {
    if (each.polled != kNotPolled) ServeOne(each, polls);
    each.polled = kNotPolled;
    Settle(each);
  }
  Sweep();
}

void OpenStreams::ServeOne(Stream& stream, const std::vector<pollfd>& polls) {
  if (polls[stream.polled].revents != 0) {
    if (stream.connecting) {
      const int error = OnConnect(stream, ErrorOfConnect(stream.input));
      if (error != 0) End(stream, {.error = error});
    }
    Write(stream);
  }
  if (stream.exited) return;  // then Advance reads
  if (polls[stream.polled + 1].revents != 0) ReadOne(stream, false);
  if (polls[stream.polled + 2].revents != 0) ReadOne(stream, true);
}

void OpenStreams::Advance(std::int64_t now_us) {
  for (Stream& each : streams_) {
    AdvanceOne(each, now_us);
    Settle(each);
  }
  Sweep();
}

void OpenStreams::AdvanceOne(Stream& stream, std::int64_t now_us) {
  if (now_us >= stream.score.at_us()) stream.score.TryAgain();
  // What is left is read without waiting for it.
  if (stream.exited) Read(stream);
  if (now_us < stream.deadline_us) return;
  stream.deadline_us = kNever;
  if (stream.connecting) return End(stream, {.error = ETIMEDOUT});
  if (stream.pid > 0) kill(-stream.pid, SIGKILL);
}

std::int64_t OpenStreams::deadline_us() const {
  std::int64_t first_us = kNever;
  for (const Stream& each : streams_) {
    first_us = std::min({first_us, each.deadline_us, each.score.at_us()});
  }
  return first_us;
}

// --- ends ---

void OpenStreams::OnDeath(pid_t pid, std::int32_t exit) {
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [pid](const Stream& each) { return each.pid == pid; });
  if (found == streams_.end()) return;
  kill(-pid, SIGKILL);
  leftovers_.KillSession(pid);
  found->pid = 0;
  found->exited = true;
  found->exit = exit;
  found->deadline_us = kNever;
  found->score.Forget();
  found->output_left = LeftIn(found->output, found->terminal);
  found->errors_left = LeftIn(found->errors, false);
}

void OpenStreams::Settle(Stream& stream) {
  if (stream.over || stream.connecting || stream.output >= 0 || stream.errors >= 0) return;
  if (stream.pid == 0) End(stream, {.exit = stream.exit});
}

void OpenStreams::EndAll() {
  for (Stream& each : streams_) {
    if (!each.connecting) Read(each);
    const bool by_itself = each.exited;
    const std::int32_t exit = each.pid > 0 ? 128 + SIGKILL : each.exit;
    End(each, {.exit = exit, .with_item = !by_itself});
  }
  Sweep();
}

void OpenStreams::Cut() {
  for (Stream& each : streams_) {
    each.muted = true;
    Close(each);
  }
  Sweep();
}

void OpenStreams::End(Stream& stream, const frame::Over& over) {
  if (std::exchange(stream.over, true)) return;
  for (int* fd : {&stream.input, &stream.output, &stream.errors}) CloseOne(*fd);
  if (!stream.muted) link_.Put(frame::EncodeOver(stream.number, over));
}

void OpenStreams::Sweep() {
  std::erase_if(streams_, [](const Stream& each) { return each.over; });
}

}  // namespace tidemill::init
