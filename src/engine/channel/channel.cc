// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/channel.h"

#include <string.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "engine/channel/item_end.h"

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

std::string OfRun(std::uint64_t number) { return " of run " + std::to_string(number); }

}  // namespace

Channel::Channel(AsioLoop& loop, Fd socket, ChannelEvents& events)
    : loop_(loop), events_(events), stream_(loop, std::move(socket)) {
  stream_.Start([this](std::string_view bytes) { OnBytes(bytes); },
                [this](const std::string& reason) { Break("init is gone: " + reason); });
}

Channel::~Channel() { loop_.Cancel(turn_); }

void Channel::Run(const ItemRun& run, const Result<std::vector<std::string>>& argv) {
  if (broken_) return;
  Waiting waiting{.number = run.number,
                  .is_timed = run.timeout > Duration::zero(),
                  .has_secrets = !run.secret_files.empty()};
  if (argv) {
    if (!argv->empty()) waiting.program = argv->front();
    const frame::Run frame{.timeout_us = run.timeout.count(),
                           .grace_us = run.grace.count(),
                           .argv = {argv->begin(), argv->end()},
                           .env = {run.env.begin(), run.env.end()},
                           .secret_files = FilesOf(run)};
    auto encoded = frame::EncodeRun(run.number, frame);
    if (encoded) {
      waiting.frame = *std::move(encoded);
    } else {
      waiting.refused =
          "its command and environment are empty, hold a NUL, or are, with its "
          "secret files, longer than " +
          std::to_string(frame::kPayloadToInit) + " bytes";
    }
  } else {
    waiting.refused = argv.error().reason;
  }
  runs_.push_back(std::move(waiting));
  SendRuns();
  TurnSoon();
}

void Channel::Stop(std::uint64_t number) {
  for (Waiting& run : runs_) {
    if (run.number != number || run.stop) continue;
    run.stop = true;
    if (run.sent) stream_.Send(frame::EncodeStop(number));
    TurnSoon();
  }
}

void Channel::TurnSoon() {
  if (turn_ != TimerId::kNone || runs_.empty() || runs_.front().sent) return;
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

// Ends the first run if init will never hear of it. False if it is not so.
bool Channel::EndRefused() {
  if (runs_.empty() || runs_.front().sent) return false;
  if (runs_.front().refused.empty() && !runs_.front().stop) return false;
  const Waiting run = std::move(runs_.front());
  runs_.pop_front();
  ItemEnd end{.number = run.number, .how = ItemEnd::How::kStopped};
  if (!run.stop) {
    end = NotStarted(run.number, 0);
    events_.OnLog(run.number, CannotRun(run.program, run.refused));
  }
  events_.OnEnd(end);
  return true;
}

// What cannot be sent holds up those behind it, so that ends come in order.
void Channel::SendRuns() {
  while (sent_ < runs_.size() && sent_ < kAhead && stream_.unsent() < kUnsentMost) {
    Waiting& run = runs_[sent_];
    if (!run.refused.empty() || run.stop) return;
    stream_.Send(std::exchange(run.frame, {}));
    run.sent = true;
    run.sent_at = loop_.Now();
    ++sent_;
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
  const bool is_first = !runs_.empty() && runs_.front().sent;
  if (!is_first || runs_.front().number != frame.number) {
    return "a frame" + OfRun(frame.number) + ", which is not the one that runs";
  }
  if (frame.kind == frame::Kind::kEnd) return TakeEnd(frame);
  events_.OnLog(frame.number, frame.payload);
  return "";
}

std::string Channel::TakeHello(const frame::Frame& frame) {
  if (greeted_) return "a second Hello";
  const auto version = frame::DecodeHello(frame.payload);
  if (!version) return "a malformed Hello";
  if (*version != frame::kVersion) {
    return "it speaks version " + std::to_string(*version) + ", and this agent version " +
           std::to_string(frame::kVersion);
  }
  greeted_ = true;
  events_.OnHello();
  return "";
}

std::string Channel::TakeEnd(const frame::Frame& frame) {
  const auto end = frame::DecodeEnd(frame.payload);
  if (!end) return "a malformed End" + OfRun(frame.number);
  const Waiting& first = runs_.front();
  if ((end->stopped || end->skipped) && !first.stop) return "it stopped a run that nobody stopped";
  if (end->timed_out && !first.is_timed) return "it timed out a run that has no timeout";
  if (end->no_secrets && !first.has_secrets) return "it has not written files that nobody sent";
  if (Duration(end->duration_us) > loop_.Now() - first.sent_at + kClockSlack) {
    return "a run that took longer than it was there";
  }
  const std::string program = first.program;
  runs_.pop_front();
  --sent_;
  SendRuns();
  TurnSoon();
  if (end->no_secrets) {
    events_.OnLog(frame.number, NoSecretFiles(strerror(end->error)));
  } else if (end->error != 0) {
    events_.OnLog(frame.number, CannotRun(program, strerror(end->error)));
  }
  events_.OnEnd(ItemEndOf(frame.number, *end));
  return "";
}

void Channel::Break(const std::string& reason) {
  broken_ = true;
  stream_.Close();
  loop_.Cancel(turn_);
  runs_.clear();
  sent_ = 0;
  events_.OnBroken(reason);
}

}  // namespace tidemill
