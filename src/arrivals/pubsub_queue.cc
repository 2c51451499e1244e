// SPDX-License-Identifier: Apache-2.0
#include "arrivals/pubsub_queue.h"

#include <algorithm>
#include <utility>

#include "arrivals/queue_json.h"
#include "cloud/google_api.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr std::chrono::seconds kPubsubTimeout{15};
// Pub/Sub answers by itself when nothing has come for a while, and sooner than this.
constexpr std::chrono::seconds kPullTimeout{100};
constexpr std::size_t kPubsubConnections = 8;
constexpr std::size_t kPubsubAnswerBytes = 32 << 20;

// A name that can stand in a path as it is.
bool IsPlainName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~' || c == ':' || c == '+';
  });
}

bool IsSubscription(std::string_view text) {
  constexpr std::string_view kProjects = "projects/";
  constexpr std::string_view kSubscriptions = "/subscriptions/";
  if (!text.starts_with(kProjects)) return false;
  text.remove_prefix(kProjects.size());
  const std::size_t at = text.find(kSubscriptions);
  return at != text.npos && IsPlainName(text.substr(0, at)) &&
         IsPlainName(text.substr(at + kSubscriptions.size()));
}

Result<std::string> ReadPubSubAnswer(const Result<HttpResponse>& got) {
  if (!got) return tl::unexpected<Error>(got.error());
  const int status = got->status;
  if (status == 200) return got->body;
  Code code = Code::kInvalid;
  if (status == 401 || status == 403) code = Code::kForbidden;
  if (status == 404) code = Code::kNotFound;
  if (status == 429 || status >= 500) code = Code::kUnavailable;
  return Fail(code, "Pub/Sub answers " + std::to_string(status) + ", " + GoogleMessage(got->body));
}

}  // namespace

Result<PubSubPlace> FindPubSubPlace(const CloudWorld& world, std::string_view subscription) {
  if (!IsSubscription(subscription)) {
    return Fail(Code::kInvalid, "'" + std::string(subscription) +
                                    "' is no subscription, as projects/P/subscriptions/S");
  }
  TIDEMILL_TRY(WebUrl url, GoogleApiRoot(world, kGooglePubSub));
  url.target.append("/v1/").append(subscription);
  return PubSubPlace{std::move(url)};
}

PubSubQueue::PubSubQueue(AsioLoop& loop, CloudWorld world, PubSubPlace place)
    : place_(std::move(place)),
      web_(loop, {.max_connections = kPubsubConnections,
                  .max_body_bytes = kPubsubAnswerBytes,
                  .tls = world.tls}),
      tokens_(loop, world) {}

void PubSubQueue::Call(const std::string& action, std::string body, std::chrono::seconds timeout,
                       Done<std::string> done) {
  tokens_.Get([this, action, body = std::move(body), timeout,
               done = std::move(done)](const Result<std::string>& token) {
    if (!token) return done(tl::unexpected<Error>(token.error()));
    HttpCall call{.method = "POST",
                  .target = place_.url.target + ":" + action,
                  .content_type = "application/json",
                  .body = body,
                  .timeout = timeout,
                  .headers = {{"Authorization", "Bearer " + *token}}};
    web_.Send(place_.url.origin, std::move(call), {.most = 1},
              [done](const Result<HttpResponse>& got) { done(ReadPubSubAnswer(got)); });
  });
}

void PubSubQueue::Receive(Done<std::vector<ArrivalMessage>> done) {
  Call("pull", FormatPull(kMost), kPullTimeout,
       [done = std::move(done)](const Result<std::string>& body) {
         if (!body) return done(tl::unexpected<Error>(body.error()));
         done(ParsePulled(*body));
       });
}

void PubSubQueue::Delete(std::vector<std::string> handles, Done<void> done) {
  Call("acknowledge", FormatAcknowledge(handles), kPubsubTimeout,
       [done = std::move(done)](const Result<std::string>& body) {
         if (!body) return done(tl::unexpected<Error>(body.error()));
         done({});
       });
}

}  // namespace tidemill
