// SPDX-License-Identifier: Apache-2.0
#include "cli/fleet_seat.h"

#include <chrono>
#include <utility>

#include "cli/format.h"
#include "env/hold.h"
#include "frame/stream.h"
#include "wire/item_json.h"
#include "wire/job_json.h"
#include "wire/submit_json.h"
#include "wire/why_json.h"

namespace tidemill::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSeatPollEvery{1'000};
constexpr milliseconds kReturnEvery{3'000};
constexpr Patience kSeatPatience{.busy = std::chrono::minutes(1), .away = std::chrono::minutes(1)};
constexpr Patience kOnce{.busy = {}, .away = {}};

StreamAsk KeeperAsk() {
  StreamAsk ask;
  ask.command = {"/bin/sh"};
  for (std::string& word : KeepWords()) ask.command.push_back(std::move(word));
  return ask;
}

}  // namespace

std::optional<int> FleetSeat::Take(const SessionSpec& spec) {
  if (const auto wrong = Submit(spec)) return wrong;
  return WaitUntilItRuns();
}

std::optional<int> FleetSeat::Submit(const SessionSpec& spec) {
  Client& client = context_.client;
  const std::string key = "seat-" + FormatUuid(random_.Next(), random_.Next());
  const auto made = client.Post("/v1/jobs", FormatNewJob(key, FormatSessionSpec(spec)));
  if (!made) return Explain(context_.console, client, made.error());
  const auto job = ParseJob(*made);
  if (!job) return Explain(context_.console, client, job.error());
  job_ = PublicId(*job);
  auto put = client.Put(JobTarget(job_, "/parts/0"), FormatRange(1), kSeatPatience);
  if (put) put = client.Post(JobTarget(job_, "/seal"), FormatSeal(1), kSeatPatience);
  if (!put) return Explain(context_.console, client, put.error(), job_);
  return std::nullopt;
}

std::optional<int> FleetSeat::WaitUntilItRuns() {
  Client& client = context_.client;
  while (true) {
    const auto page = client.Get(JobTarget(job_, "/items"), kSeatPatience);
    if (!page) return Explain(context_.console, client, page.error(), job_);
    const auto items = ParseItems(*page);
    if (!items) return Explain(context_.console, client, items.error());
    const ItemState state = items->items.empty() ? ItemState::kWaiting : items->items[0].state;
    if (state == ItemState::kRunning) {
      // Its lease is out; whether it has begun knows its machine.
      auto keeper = AwaitItemStream(client, Ask(KeeperAsk()));
      if (keeper) {
        Begin(*std::move(keeper));
        return std::nullopt;
      }
      const Code code = keeper.error().code;
      const bool too_early = code == Code::kConflict || code == Code::kUnavailable;
      if (!too_early) return Explain(context_.console, client, keeper.error());
    } else if (state != ItemState::kWaiting) {
      context_.console.ErrLine(job_ + " could not begin:  tidemill logs " + job_ + " --item 0");
      return kFailed;
    }
    TellWhatItWaitsFor();
    client.Sleep(kSeatPollEvery);
    if (client.interrupted()) return kInterrupted;
  }
}

void FleetSeat::TellWhatItWaitsFor() {
  if (context_.console.quiet || context_.console.json) return;
  const auto body = context_.client.Get(JobTarget(job_, "/why"), kOnce);
  const auto why = body ? ParseJobWhy(*body) : Result<JobWhy>(tl::unexpected(body.error()));
  if (!why || why->reasons.empty()) return;
  // Not for each second that passes meanwhile.
  const WhyReason& reason = why->reasons[0];
  if (reason.code == told_) return;
  told_ = reason.code;
  context_.console.ErrLine(
      Clip(job_ + ": " + Printable(reason.sentence), context_.console.columns));
}

void FleetSeat::Keep(OnOver on_over) { on_over_ = std::move(on_over); }

void FleetSeat::Begin(std::unique_ptr<ByteStream> keeper) {
  reader_.emplace(frame::Reader::Side::kPerson);
  keeper_ = std::move(keeper);
  keeper_->Start({.on_bytes = [this](std::string_view bytes) { OnKeeper(bytes); },
                  .on_sent = [] {},
                  .on_end = [this](const std::string&) { Lost(); }});
}

void FleetSeat::OnKeeper(std::string_view bytes) {
  reader_->Feed(bytes);
  while (const auto frame = reader_->Next()) {
    if (frame->kind != frame::Kind::kOver) continue;
    const auto over = frame::DecodeOver(frame->payload);
    return Over(over && over->with_item ? "it has ended there" : "its container has ended");
  }
}

// A server may have been stopped: another takes us, or the same one soon. If that lasts for longer
// than it is held, the item ends by itself, which is then seen.
void FleetSeat::Lost() {
  keeper_.reset();
  context_.client.loop().After(kReturnEvery, [this] {
    if (left_) return;
    OpenItemStream(context_.client, Ask(KeeperAsk()),
                   [this](Result<std::unique_ptr<ByteStream>> keeper) {
                     if (left_) return;
                     if (keeper) return Begin(*std::move(keeper));
                     if (keeper.error().code == Code::kConflict) return Over(keeper.error().reason);
                     Lost();
                   });
  });
}

void FleetSeat::Over(const std::string& reason) {
  keeper_.reset();
  if (const auto on_over = std::exchange(on_over_, {})) on_over(reason);
}

void FleetSeat::Leave() {
  left_ = true;
  keeper_.reset();
  if (job_.empty()) return;
  context_.client.GoOn();
  const auto cancelled = context_.client.Post(JobTarget(job_, "/cancel"), "", kSeatPatience);
  const Console& console = context_.console;
  if (!cancelled) {
    console.ErrLine(job_ + " could not be cancelled: " + cancelled.error().reason);
    console.ErrLine("It ends by itself in " + std::to_string(kHeldSeconds / 60) +
                    " minutes; at once with:  tidemill cancel " + job_);
  }
}

}  // namespace tidemill::cli
