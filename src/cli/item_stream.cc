// SPDX-License-Identifier: Apache-2.0
#include "cli/item_stream.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "wire/stream_json.h"

namespace tidemill::cli {
namespace {

// A server waits 20 s for the machine, and says so then: it should not be cut short.
constexpr std::chrono::milliseconds kOpenTime{45'000};

HttpCall CallFor(const ItemStreamAsk& ask) {
  HttpCall call{.method = "POST",
                .target = JobTarget(ask.job, "/items/" + std::to_string(ask.item)),
                .timeout = kOpenTime};
  if (ask.ask.port != 0) {
    call.target += "/ports/" + std::to_string(ask.ask.port);
    return call;
  }
  call.target += "/shell";
  call.content_type = "application/json";
  call.body = FormatStreamAsk(ask.ask);
  return call;
}

}  // namespace

void OpenItemStream(Client& client, const ItemStreamAsk& ask, Client::StreamDone done) {
  client.Upgrade(CallFor(ask), std::move(done));
}

Result<std::unique_ptr<ByteStream>> AwaitItemStream(Client& client, const ItemStreamAsk& ask) {
  using Answer = std::optional<Result<std::unique_ptr<ByteStream>>>;
  // Shared: after an interruption the answer may come when nobody waits for it.
  const auto answer = std::make_shared<Answer>();
  OpenItemStream(client, ask,
                 [answer, &loop = client.loop()](Result<std::unique_ptr<ByteStream>> stream) {
                   answer->emplace(std::move(stream));
                   loop.Stop();
                 });
  while (!*answer && !client.interrupted()) client.loop().Run();
  if (!*answer) return Fail(Code::kUnknown, "interrupted");
  return std::move(**answer);
}

}  // namespace tidemill::cli
