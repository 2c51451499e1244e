// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/channel.h"

#include <string.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "engine/channel/item_end.h"
#include "frame/json.h"

namespace tidemill {
namespace {

// Two clocks, read at different times, by which a run may seem longer than it can have been.
constexpr std::chrono::seconds kClockSlack{2};

static_assert(frame::kSecretFilesMost == limits::kSecretsPerJob);
static_assert(frame::kSecretFileBytes == limits::kSecretBytes);
static_assert(frame::kSecretNameBytes == limits::kNameBytes);

// By name, as a frame has them.
std::vector<frame::SecretFile> FilesOf(const ItemRun& run) {
  std::vector<frame::SecretFile> files;
  for (const SecretFile& file : run.secret_files) files.push_back({file.name, file.content});
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

// The strings are those of the run and of `argv`.
frame::Run FrameOf(const ItemRun& run, const std::vector<std::string>& argv) {
  return {.timeout_us = run.timeout.count(),
          .grace_us = run.grace.count(),
          .argv = {argv.begin(), argv.end()},
          .env = {run.env.begin(), run.env.end()},
          .secret_files = FilesOf(run),
          .tag = run.tag};
}

constexpr char kNoFrame[] =
    "its command and environment are empty, hold a NUL, or are, with its secret files, longer than "
    "1048576 bytes";
static_assert(frame::kPayloadToInit == 1048576);
static_assert(frame::kTagBytes == kTagBytes);

std::string OfRun(std::uint64_t number) { return " of run " + std::to_string(number); }

}  // namespace

Channel::Channel(AsioLoop& loop, Fd socket, ChannelEvents& events)
    : loop_(loop),
      events_(events),
      stream_(loop, std::move(socket)),
      streams_(loop, stream_, events) {
  Start();
}

Channel::Channel(AsioLoop& loop, Fd socket, ChannelEvents& events, const Greeted& greeted,
                 bool is_loop)
    : loop_(loop),
      events_(events),
      stream_(loop, std::move(socket)),
      streams_(loop, stream_, events) {
  greeted_ = true;
  streams_.set_version(greeted.version);
  is_loop_ = is_loop;
  for (const FoundContainer::Run& run : greeted.runs) {
    runs_.push_back({.number = run.number, .sent = true, .is_found = true});
  }
  sent_ = runs_.size();
  Start();
}

void Channel::Start() {
  stream_.Start([this](std::string_view bytes) { OnBytes(bytes); },
                [this](const std::string& reason) { Break("init is gone: " + reason); });
}

Channel::~Channel() { loop_.Cancel(turn_); }

void Channel::EncodeRun(const ItemRun& run, const Result<std::vector<std::string>>& argv,
                        Waiting& waiting) const {
  if (!argv) {
    waiting.refused = argv.error().reason;
    return;
  }
  if (!argv->empty()) waiting.program = argv->front();
  const frame::Run frame = FrameOf(run, *argv);
  auto encoded = frame::EncodeRun(run.number, frame);
  if (encoded) {
    waiting.frame = *std::move(encoded);
  } else {
    waiting.refused = kNoFrame;
  }
}

void Channel::EncodeItem(const ItemRun& run, Waiting& waiting) const {
  waiting.program = program_;
  waiting.refused = program_refused_;
  if (!waiting.refused.empty()) return;
  const auto name = frame::ItemNameOf(run.item);
  std::optional<std::string> encoded;
  if (name) {
    encoded = frame::EncodeItem(run.number, {.timeout_us = run.timeout.count(),
                                             .grace_us = run.grace.count(),
                                             .name = *name,
                                             .alone = run.alone,
                                             .tag = run.tag,
                                             .json = run.item});
  }
  if (encoded) {
    waiting.frame = *std::move(encoded);
  } else {
    waiting.refused =
        "its item is no JSON object in one line with its number as \"item\", or is too long";
  }
}

void Channel::Run(const ItemRun& run, const Result<std::vector<std::string>>& argv) {
  if (broken_) return;
  Waiting waiting{.number = run.number,
                  .is_timed = run.timeout > Duration::zero(),
                  .has_secrets = is_loop_ ? has_secrets_ : !run.secret_files.empty()};
  if (is_loop_) {
    EncodeItem(run, waiting);
  } else {
    EncodeRun(run, argv, waiting);
  }
  waiting.bytes = waiting.frame.size();
  runs_.push_back(std::move(waiting));
  SendRuns();
  TurnSoon();
}

void Channel::Load(const ItemRun& program, const Result<std::vector<std::string>>& argv) {
  if (broken_) return;
  is_loop_ = true;
  has_secrets_ = !program.secret_files.empty();
  if (!argv) {
    program_refused_ = argv.error().reason;
    return;
  }
  if (!argv->empty()) program_ = argv->front();
  const frame::Run frame = FrameOf(program, *argv);
  if (const auto encoded = frame::EncodeProgram(frame)) {
    stream_.Send(*encoded);
  } else {
    program_refused_ = kNoFrame;
  }
}

void Channel::NoMore() {
  if (broken_ || !is_loop_ || no_more_) return;
  no_more_ = true;
  SendRuns();
}

void Channel::UseRole(std::string_view keys) {
  const auto frame = frame::EncodeRole(keys);
  if (!broken_ && frame) stream_.Send(*frame);
}

void Channel::Stop(std::uint64_t number) {
  for (Waiting& run : runs_) {
    if (run.number != number || run.stop) continue;
    run.stop = true;
    if (run.sent) stream_.Send(frame::EncodeStop(number));
    TurnSoon();
  }
}

void Channel::OpenStream(const StreamStart& start) {
  if (!broken_) streams_.Open(start);
}

void Channel::TurnSoon() {
  const std::size_t next = NextUnsent();
  if (turn_ != TimerId::kNone || next >= runs_.size() || runs_[next].sent) return;
  if (is_loop_ && runs_[next].refused.empty() && !runs_[next].stop) return;
  turn_ = loop_.After(Duration::zero(), [this] {
    turn_ = TimerId::kNone;
    Turn();
  });
}

void Channel::Turn() {
  const std::weak_ptr<char> alive = alive_;
  while (EndRefused()) {
    if (alive.expired()) return;
  }
  SendRuns();
}

// Ends the next run if init will never hear of it: in a loop at once, else when those before it
// have ended. False if it is not so.
bool Channel::EndRefused() {
  const std::size_t next = NextUnsent();
  if (next >= runs_.size() || runs_[next].sent) return false;
  if (runs_[next].refused.empty() && !runs_[next].stop) return false;
  const Waiting run = std::move(runs_[next]);
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(next));
  ItemEnd end{.number = run.number, .how = ItemEnd::How::kStopped};
  if (!run.stop) {
    end = NotStarted(run.number, 0);
    events_.OnLog(run.number, CannotRun(run.program, run.refused));
  }
  events_.OnEnd(end);
  return true;
}

// One is always sent, however much there is for streams: it is the end of a run that lets the next
// ones follow.
bool Channel::MaySend() const {
  if (sent_ > 0 && stream_.unsent() >= kUnsentMost) return false;
  if (!is_loop_) return sent_ < kAhead;
  return sent_ < kLoopAhead && (sent_ == 0 || sent_bytes_ + runs_[sent_].bytes <= kLoopAheadBytes);
}

// What cannot be sent holds up those behind it, so that ends come in order.
void Channel::SendRuns() {
  while (sent_ < runs_.size() && MaySend()) {
    Waiting& run = runs_[sent_];
    if (!run.refused.empty() || run.stop) return;
    stream_.Send(std::exchange(run.frame, {}));
    run.sent = true;
    run.sent_at = loop_.Now();
    sent_bytes_ += run.bytes;
    ++sent_;
  }
  if (no_more_ && !told_no_more_ && sent_ == runs_.size()) {
    told_no_more_ = true;
    stream_.Send(frame::EncodeNoMore());
  }
}

void Channel::OnBytes(std::string_view bytes) {
  const std::weak_ptr<char> alive = alive_;
  reader_.Feed(bytes);
  while (const auto frame = reader_.Next()) {
    const std::string wrong = Take(*frame);
    if (alive.expired()) return;
    if (!wrong.empty()) return Break("init broke the rules: " + wrong);
  }
  if (reader_.broken()) Break("init broke the rules: what it sent is no frame");
}

std::string Channel::Take(const frame::Frame& frame) {
  if (frame.kind == frame::Kind::kHello) return TakeHello(frame);
  if (!greeted_) return "it did not begin with a Hello";
  if (frame.kind == frame::Kind::kHave) return "it has more than it said";
  if (ChannelStreams::IsOurs(frame.kind)) return streams_.Take(frame);
  // In a loop those that end are mostly the first: they were taken first.
  const std::size_t known = is_loop_ ? sent_ : std::min<std::size_t>(sent_, 1);
  std::size_t at = 0;
  while (at < known && runs_[at].number != frame.number) ++at;
  if (at == known) {
    return "a frame" + OfRun(frame.number) + ", which is not " +
           (is_loop_ ? "one of those that it has" : "the one that runs");
  }
  if (frame.kind == frame::Kind::kEnd) return TakeEnd(frame, at);
  if (frame.kind == frame::Kind::kProgress) return TakeProgress(frame);
  events_.OnLog(frame.number, frame.payload);
  return "";
}

std::string Channel::TakeProgress(const frame::Frame& frame) {
  const auto progress = frame::DecodeProgress(frame.payload);
  if (!progress) return "a malformed Progress" + OfRun(frame.number);
  events_.OnProgress(frame.number, progress->permille, progress->note);
  return "";
}

std::string Channel::TakeHello(const frame::Frame& frame) {
  if (greeted_) return "a second Hello";
  const auto hello = frame::DecodeHello(frame.payload);
  if (!hello) return "a malformed Hello";
  if (hello->version < frame::kOldestVersion || hello->version > frame::kVersion) {
    return "it speaks version " + std::to_string(hello->version) + ", and this agent version " +
           std::to_string(frame::kVersion);
  }
  if (hello->runs != 0) return "it has runs that nobody gave it";
  greeted_ = true;
  streams_.set_version(hello->version);
  events_.OnHello();
  return "";
}

std::string Channel::WrongWith(const frame::End& end, const Waiting& run) const {
  if ((end.stopped || end.skipped) && !run.stop) return "it stopped a run that nobody stopped";
  if (end.timed_out && !run.is_timed) return "it timed out a run that has no timeout";
  if (end.no_secrets && !run.has_secrets) return "it has not written files that nobody sent";
  if (Duration(end.duration_us) > loop_.Now() - run.sent_at + kClockSlack) {
    return "a run that took longer than it was there";
  }
  return "";
}

std::string Channel::TakeEnd(const frame::Frame& frame, std::size_t at) {
  const auto end = frame::DecodeEnd(frame.payload);
  if (!end) return "a malformed End" + OfRun(frame.number);
  const Waiting& run = runs_[at];
  if (!run.is_found) {
    if (const std::string wrong = WrongWith(*end, run); !wrong.empty()) return wrong;
  }
  if (end->among_others && !is_loop_) return "others beside a run that was alone";
  if (!end->result.empty() && !is_loop_) return "a result, which only a loop's program sends";
  const std::string program = run.program;
  sent_bytes_ -= run.bytes;
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(at));
  --sent_;
  SendRuns();
  TurnSoon();
  if (end->no_secrets) {
    events_.OnLog(frame.number, NoSecretFiles(strerror(end->error)));
  } else if (end->error != 0) {
    events_.OnLog(frame.number, CannotRun(program, strerror(end->error)));
  }
  const std::weak_ptr<char> alive = alive_;
  events_.OnEnd(ItemEndOf(frame.number, *end));
  // Now that somebody else knows it.
  if (!alive.expired()) stream_.Send(frame::EncodeHeard(frame.number));
  return "";
}

void Channel::Break(const std::string& reason) {
  broken_ = true;
  stream_.Close();
  loop_.Cancel(turn_);
  runs_.clear();
  sent_ = 0;
  sent_bytes_ = 0;
  streams_.Drop();
  events_.OnBroken(reason);
}

}  // namespace tidemill
