// SPDX-License-Identifier: Apache-2.0
#include "arrivals/sqs_queue.h"

#include <algorithm>
#include <utility>

#include "arrivals/queue_json.h"
#include "base/digest.h"
#include "cloud/aws_profile.h"
#include "cloud/sigv4.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr std::chrono::seconds kSqsTimeout{15};
// Some calls wait at the queue while others take messages away.
constexpr std::size_t kSqsConnections = 8;
// Ten messages of 1 MiB, the longest that SQS takes, escaped.
constexpr std::size_t kSqsAnswerBytes = 32 << 20;

// "eu-west-1" of "sqs.eu-west-1.amazonaws.com", also behind the name of a private endpoint, and of
// the older "eu-west-1.queue.amazonaws.com".
std::string RegionOfHost(std::string_view host) {
  if (host.find(".amazonaws.com") == host.npos) return "";
  if (const std::size_t at = host.find(".queue."); at != host.npos) {
    return std::string(host.substr(0, at));
  }
  const std::size_t sqs = host.find("sqs.");
  if (sqs == host.npos || (sqs > 0 && host[sqs - 1] != '.')) return "";
  host.remove_prefix(sqs + std::string_view("sqs.").size());
  return std::string(host.substr(0, host.find('.')));
}

Code SqsCodeOf(int status, std::string_view words) {
  const auto has = [words](std::string_view part) { return words.find(part) != words.npos; };
  if (status == 429 || status >= 500 || has("Throttl") || has("OverLimit")) {
    return Code::kUnavailable;
  }
  if (has("QueueDoesNotExist") || has("NonExistentQueue")) return Code::kNotFound;
  if (status == 401 || status == 403 || has("AccessDenied") || has("InvalidClientTokenId") ||
      has("UnrecognizedClient") || has("SignatureDoesNotMatch") || has("ExpiredToken")) {
    return Code::kForbidden;
  }
  return Code::kInvalid;
}

Result<std::string> ReadSqsAnswer(const Result<HttpResponse>& got) {
  if (!got) return tl::unexpected<Error>(got.error());
  if (got->status == 200) return got->body;
  const std::string words = AwsJsonMessage(got->body);
  return Fail(SqsCodeOf(got->status, words),
              "SQS answers " + std::to_string(got->status) + ", " + words);
}

}  // namespace

Result<SqsPlace> FindSqsPlace(const CloudWorld& world, std::string_view queue_url) {
  const auto url = ParseWebUrl(queue_url);
  const bool has_name = url && std::count(url->target.begin(), url->target.end(), '/') >= 2;
  if (!has_name) {
    return Fail(Code::kInvalid, "'" + std::string(queue_url) +
                                    "' is no URL of a queue, as "
                                    "https://sqs.eu-west-1.amazonaws.com/123456789012/arrivals");
  }
  // A profile that is wrong is told by the credentials.
  const auto profile = LoadAwsProfile(world);
  const AwsProfile known = profile ? *profile : AwsProfile{};
  SqsPlace place{.queue_url = std::string(queue_url), .region = RegionOfHost(url->origin.host)};
  if (place.region.empty()) place.region = AwsRegion(world, known);
  if (!IsAwsRegion(place.region)) {
    return Fail(Code::kInvalid, "the region of the queue is not known; set AWS_REGION");
  }
  const std::string endpoint = AwsEndpoint(world, known, "SQS");
  auto asked = endpoint.empty() ? url : ParseWebUrl(endpoint);
  if (!asked) return While("the endpoint of SQS", asked.error());
  if (!asked->origin.tls && !IsNear(asked->origin.host)) {
    return Fail(Code::kInvalid, "the endpoint of SQS must be https://");
  }
  place.endpoint = {.origin = std::move(asked->origin)};
  return place;
}

// Messages are taken away ten at a time, all calls at once.
struct SqsQueue::Deleting {
  Done<void> done;
  std::size_t left = 0;
  std::optional<Error> failed = {};
};

SqsQueue::SqsQueue(AsioLoop& loop, CloudWorld world, SqsPlace place, std::chrono::seconds wait)
    : world_(std::move(world)),
      place_(std::move(place)),
      wait_(wait),
      web_(loop, {.max_connections = kSqsConnections,
                  .max_body_bytes = kSqsAnswerBytes,
                  .tls = world_.tls}),
      credentials_(loop, world_) {}

void SqsQueue::Call(const std::string& action, std::string body, std::chrono::seconds timeout,
                    Done<std::string> done) {
  credentials_.Get([this, action, body = std::move(body), timeout,
                    done = std::move(done)](const Result<AwsKeys>& keys) {
    if (!keys) return done(tl::unexpected<Error>(keys.error()));
    HttpCall call{.method = "POST", .body = body, .timeout = timeout};
    AwsSigned made = SignAws({.method = call.method,
                              .host = Authority(place_.endpoint.origin),
                              .headers = {{"Content-Type", "application/x-amz-json-1.0"},
                                          {"X-Amz-Target", "AmazonSQS." + action}},
                              .payload = Hex(Sha256(call.body))},
                             *keys, {.region = place_.region, .service = "sqs"}, world_.now_ms());
    call.target = std::move(made.target);
    call.headers = std::move(made.headers);
    web_.Send(place_.endpoint.origin, std::move(call), {.most = 1},
              [done](const Result<HttpResponse>& got) { done(ReadSqsAnswer(got)); });
  });
}

void SqsQueue::Receive(Done<std::vector<ArrivalMessage>> done) {
  const SqsAsk ask{.queue_url = place_.queue_url,
                   .most = kMost,
                   .wait_s = static_cast<int>(wait_.count()),
                   .hidden_s = static_cast<int>(kHidden.count())};
  Call("ReceiveMessage", FormatSqsReceive(ask), wait_ + kSqsTimeout,
       [done = std::move(done)](const Result<std::string>& body) {
         if (!body) return done(tl::unexpected<Error>(body.error()));
         done(ParseSqsMessages(*body));
       });
}

void SqsQueue::Delete(std::vector<std::string> handles, Done<void> done) {
  const auto deleting = std::make_shared<Deleting>(Deleting{.done = std::move(done)});
  deleting->left = (handles.size() + kMost - 1) / kMost;
  for (std::size_t at = 0; at < handles.size(); at += kMost) {
    const std::size_t end = std::min(handles.size(), at + kMost);
    const std::vector<std::string> some(handles.begin() + static_cast<std::ptrdiff_t>(at),
                                        handles.begin() + static_cast<std::ptrdiff_t>(end));
    Call("DeleteMessageBatch", FormatSqsDelete(place_.queue_url, some), kSqsTimeout,
         [deleting](const Result<std::string>& body) {
           const auto failed =
               body ? ParseSqsFailed(*body) : Result<std::size_t>(tl::unexpected(body.error()));
           if (!failed) deleting->failed = failed.error();
           if (failed && *failed > 0) {
             deleting->failed = Error{Code::kUnavailable, "SQS kept some messages"};
           }
           if (--deleting->left > 0) return;
           if (deleting->failed) return deleting->done(tl::unexpected<Error>(*deleting->failed));
           deleting->done({});
         });
  }
}

}  // namespace tidemill
