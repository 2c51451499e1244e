// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/http_streams.h"

#include <utility>

#include "wire/problem_json.h"
#include "wire/stream_json.h"

namespace tidemill {
namespace {

HttpCall CallOf(const SessionPass& pass, StreamId stream, const std::string& tail) {
  return {.method = "POST",
          .target = "/v1/agents/" + ToString(pass.session) + "/streams/" + ToString(stream) + tail,
          .timeout = HttpStreams::kDialTime,
          .headers = {{"Authorization", "Bearer " + pass.token}}};
}

}  // namespace

HttpStreams::HttpStreams(AsioLoop& loop, const std::vector<Origin>& servers,
                         std::shared_ptr<const TlsTrust> trust)
    : loop_(loop) {
  // A connection that is kept would lead to the same server each time.
  const HttpClientOptions options{
      .max_connections = 4, .idle_timeout = std::chrono::milliseconds(0), .tls = std::move(trust)};
  for (const Origin& server : servers) {
    clients_.push_back(std::make_unique<HttpClient>(loop, server, options));
  }
}

void HttpStreams::Go(const std::shared_ptr<Round>& round) {
  HttpClient& client = *clients_[round->tries++ % clients_.size()];
  round->call(client, [this, round](Error error) { GoOn(round, std::move(error)); });
}

void HttpStreams::GoOn(const std::shared_ptr<Round>& round, Error error) {
  if (error.code != Code::kNotFound || round->last.code == Code::kNotFound) {
    round->last = std::move(error);
  }
  if (round->tries >= kRounds * clients_.size()) return round->over(round->last);
  const bool is_round = round->tries % clients_.size() == 0;
  if (!is_round) return Go(round);
  loop_.After(kBetweenRounds, [this, round, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Go(round);
  });
}

void HttpStreams::Connect(const SessionPass& pass, StreamId stream, Done done) {
  const auto round = std::make_shared<Round>();
  round->call = [call = CallOf(pass, stream, ""), done](HttpClient& client,
                                                        std::function<void(Error)> fail) {
    client.Upgrade(call, [done, fail = std::move(fail)](Result<HttpClient::Upgraded> upgraded) {
      if (!upgraded) return fail(upgraded.error());
      const HttpResponse& answer = upgraded->answer;
      if (upgraded->stream == nullptr) return fail(ParseProblem(answer.status, answer.body));
      done(std::move(upgraded->stream));
    });
  };
  round->over = [done](Error error) { done(tl::unexpected(std::move(error))); };
  Go(round);
}

void HttpStreams::Refuse(const SessionPass& pass, StreamId stream, const std::string& reason) {
  HttpCall call = CallOf(pass, stream, "/refusal");
  call.content_type = "application/json";
  call.body = FormatRefusal(reason);
  const auto round = std::make_shared<Round>();
  round->call = [call = std::move(call)](HttpClient& client, std::function<void(Error)> fail) {
    client.Send(call, [fail = std::move(fail)](const Result<HttpResponse>& answer) {
      if (!answer) return fail(answer.error());
      if (answer->status / 100 != 2) fail(ParseProblem(answer->status, answer->body));
    });
  };
  round->over = [](const Error&) {};
  Go(round);
}

}  // namespace tidemill
