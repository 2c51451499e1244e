// SPDX-License-Identifier: Apache-2.0
#include "cli/fleet_jupyter.h"

#include <chrono>
#include <utility>

#include "cli/env_jupyter.h"
#include "env/hold.h"
#include "env/jupyter.h"
#include "frame/stream.h"

namespace tidemill::cli {
namespace {

using std::chrono::milliseconds;

// It imports much, on a machine that may just have booted.
constexpr Duration kStartTime = std::chrono::minutes(3);
constexpr milliseconds kJupyterPollEvery{500};

// What a stream says until it is over, or until `patience` has passed; nothing then.
std::optional<frame::Over> OverWithin(Client& client, ByteStream& stream, milliseconds patience) {
  struct Heard {
    frame::Reader reader{frame::Reader::Side::kPerson};
    std::optional<frame::Over> over = {};
  };
  const auto heard = std::make_shared<Heard>();
  const auto stop = [&loop = client.loop()] { loop.Stop(); };
  stream.Start({.on_bytes =
                    [heard, stop](std::string_view bytes) {
                      heard->reader.Feed(bytes);
                      while (const auto frame = heard->reader.Next()) {
                        if (frame->kind != frame::Kind::kOver) continue;
                        heard->over = frame::DecodeOver(frame->payload);
                        return stop();
                      }
                    },
                .on_sent = [] {},
                .on_end =
                    [heard, stop](const std::string&) {
                      if (!heard->over) heard->over = frame::Over{.exit = 1};
                      stop();
                    }});
  const TimePoint until = client.loop().Now() + patience;
  const TimerId timer = client.loop().After(patience, stop);
  while (!heard->over && !client.interrupted() && client.loop().Now() < until) client.loop().Run();
  client.loop().Cancel(timer);
  return heard->over;
}

}  // namespace

StreamAsk FleetJupyter::PortAsk() const {
  return {.port = static_cast<std::uint16_t>(kJupyterPort)};
}

int FleetJupyter::Run(const std::string& image) {
  seat_.Keep([this](const std::string& reason) {
    over_ = reason;
    context_.client.loop().Stop();
  });
  for (const auto step :
       {&FleetJupyter::TellToken, &FleetJupyter::WaitUntilItListens, &FleetJupyter::Listen}) {
    if (const auto exit = (this->*step)()) return *exit;
  }
  ShowJupyter(context_.console, JupyterPlaceAt(port_, token_, image),
              "is on a machine of the fleet, and for this one alone. Ctrl-C stops it.");
  while (!over_ && !context_.client.interrupted()) context_.client.loop().Run();
  listener_.reset();
  if (!over_) return kInterrupted;
  context_.console.ErrLine(seat_.job() + ": " + *over_);
  return kDone;
}

std::optional<int> FleetJupyter::TellToken() {
  StreamAsk ask;
  ask.command = {"/bin/sh"};
  for (std::string& word : TellTokenWords()) ask.command.push_back(std::move(word));
  auto stream = AwaitItemStream(context_.client, seat_.Ask(std::move(ask)));
  if (!stream) return Explain(context_.console, context_.client, stream.error());
  (*stream)->Send(frame::EncodeGive(0, token_) + frame::EncodeGive(0, ""));
  const auto over = OverWithin(context_.client, **stream, milliseconds(30'000));
  if (context_.client.interrupted()) return kInterrupted;
  if (over && over->exit == 0 && over->error == 0) return std::nullopt;
  context_.console.ErrLine(seat_.job() + ": the container does not take Jupyter's token:  " +
                           "tidemill logs " + seat_.job() + " --item 0");
  return kFailed;
}

std::optional<int> FleetJupyter::WaitUntilItListens() {
  Client& client = context_.client;
  const TimePoint until = client.loop().Now() + kStartTime;
  while (!over_ && client.loop().Now() < until) {
    auto stream = AwaitItemStream(client, seat_.Ask(PortAsk()));
    // Who is connected hears nothing, for he has asked for nothing.
    if (stream && !OverWithin(client, **stream, kJupyterPollEvery) && !client.interrupted()) {
      return std::nullopt;
    }
    if (client.interrupted()) return kInterrupted;
    client.Sleep(kJupyterPollEvery);
  }
  context_.console.ErrLine(seat_.job() + ": Jupyter does not begin:  tidemill logs " + seat_.job() +
                           " --item 0");
  return kFailed;
}

std::optional<int> FleetJupyter::Listen() {
  auto listener = LoopbackListener::Listen(
      context_.client.loop(), static_cast<std::uint16_t>(port_),
      [this](std::unique_ptr<ByteStream> here) { Carry(std::move(here)); });
  if (!listener) {
    context_.console.ErrLine(listener.error().reason);
    return kFailed;
  }
  listener_ = *std::move(listener);
  return std::nullopt;
}

void FleetJupyter::Carry(std::unique_ptr<ByteStream> here) {
  if (tunnels_.size() + opening_ >= kConnectionsMost) return;
  ++opening_;
  // Shared, because a function that is copied holds it.
  const auto held = std::make_shared<std::unique_ptr<ByteStream>>(std::move(here));
  OpenItemStream(context_.client, seat_.Ask(PortAsk()),
                 [this, held](Result<std::unique_ptr<ByteStream>> stream) {
                   --opening_;
                   if (!stream) return;  // the browser sees its connection end
                   const auto place = tunnels_.insert(tunnels_.end(), nullptr);
                   *place = std::make_unique<PortTunnel>(std::move(*held), *std::move(stream),
                                                         [this, place] { tunnels_.erase(place); });
                 });
}

}  // namespace tidemill::cli
