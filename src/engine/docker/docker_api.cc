// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_api.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/docker/image_words.h"
#include "net/http.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

constexpr int kLeastMinor = 41;  // Docker 20.10
constexpr int kMostMinor = 47;   // the newest that this code was held against
// An Engine under load takes long to make a container; one that takes longer than this hangs.
constexpr seconds kSlowCall{120};
constexpr seconds kQuickCall{30};
// Containers that are made or ended side by side; the Engine gets no quicker by more.
constexpr std::size_t kConnections = 8;
constexpr std::size_t kAnswerBytes = 16 << 20;  // a list of the most containers there may be

bool IsSuccess(int status) { return status >= 200 && status < 300; }

tl::unexpected<Error> Refused(const HttpResponse& answer) {
  return Fail(answer.status == 404 ? Code::kNotFound : Code::kUnavailable,
              "Docker says: " + DockerMessage(answer.body));
}

// What `parse` makes of the body of a success.
template <typename T, typename Parse>
Result<T> Read(const Result<HttpResponse>& answer, Parse parse) {
  if (!answer) return tl::unexpected(answer.error());
  if (!IsSuccess(answer->status)) return Refused(*answer);
  Result<T> value = parse(answer->body);
  if (value) return value;
  return Fail(Code::kUnavailable, "cannot read Docker's answer: " + value.error().reason);
}

std::string ContainerPath(const std::string& name) { return "/containers/" + PercentEncode(name); }

std::optional<int> MinorOf(std::string_view version) {
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto [rest, error] = std::from_chars(version.data(), end, minor);
  if (error != std::errc{} || rest != end || minor < 0) return std::nullopt;
  return minor;
}

}  // namespace

Result<std::string> NegotiateApi(const DockerVersion& engine) {
  const auto minor = MinorOf(engine.api_version);
  if (!minor || *minor < kLeastMinor) {
    return Fail(Code::kUnavailable, "Docker " + engine.version + " speaks API version " +
                                        engine.api_version + ", and 1." +
                                        std::to_string(kLeastMinor) +
                                        " (Docker 20.10) or newer is needed; upgrade it");
  }
  return "1." + std::to_string(std::min(*minor, kMostMinor));
}

DockerApi::DockerApi(AsioLoop& loop, std::string socket_path)
    : socket_path_(std::move(socket_path)),
      client_(loop, origin(), {.max_connections = kConnections, .max_body_bytes = kAnswerBytes}) {}

tl::unexpected<Error> DockerApi::Unreachable(const Error& error) const {
  return Fail(Code::kUnavailable, "cannot reach Docker at " + socket_path_ + ": " + error.reason +
                                      "; is it running, and may this user reach it?");
}

void DockerApi::Call(HttpCall call, std::function<void(Result<HttpResponse>)> done) {
  if (!call.body.empty()) call.content_type = "application/json";
  client_.Send(std::move(call), [this, done = std::move(done)](Result<HttpResponse> answer) {
    if (!answer) answer = Unreachable(answer.error());
    done(std::move(answer));
  });
}

void DockerApi::Connect(Done<DockerVersion> done) {
  Call({.target = "/version", .timeout = kQuickCall},
       [this, done = std::move(done)](Result<HttpResponse> answer) {
         auto version = Read<DockerVersion>(answer, ParseDockerVersion);
         if (!version) return done(std::move(version));
         const auto agreed = NegotiateApi(*version);
         if (!agreed) return done(tl::unexpected(agreed.error()));
         prefix_ = "/v" + *agreed;
         done(std::move(version));
       });
}

void DockerApi::Info(Done<DockerInfo> done) {
  Call({.target = prefix_ + "/info", .timeout = kQuickCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         done(Read<DockerInfo>(answer, ParseDockerInfo));
       });
}

void DockerApi::FindNetwork(const std::string& name, Done<DockerNetwork> done) {
  Call({.target = prefix_ + "/networks/" + PercentEncode(name), .timeout = kQuickCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         done(Read<DockerNetwork>(answer, ParseDockerNetwork));
       });
}

void DockerApi::MakeNetwork(const std::string& name, const DockerNetwork& network,
                            Done<void> done) {
  Call({.method = "POST",
        .target = prefix_ + "/networks/create",
        .body = FormatDockerNetwork(name, network),
        .timeout = kSlowCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         if (!answer) return done(tl::unexpected(answer.error()));
         if (IsSuccess(answer->status)) return done({});
         done(Refused(*answer));
       });
}

void DockerApi::FindImage(const std::string& image, Done<DockerImage> done) {
  Call({.target = prefix_ + "/images/" + PercentEncode(image) + "/json", .timeout = kQuickCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         done(Read<DockerImage>(answer, ParseDockerImage));
       });
}

void DockerApi::Create(const std::string& name, const DockerCreate& create, Done<void> done) {
  Call({.method = "POST",
        .target = prefix_ + "/containers/create?name=" + PercentEncode(name),
        .body = FormatDockerCreate(create),
        .timeout = kSlowCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         if (!answer) return done(tl::unexpected(answer.error()));
         if (IsSuccess(answer->status) || answer->status == 409) return done({});
         done(tl::unexpected(StartError(answer->status, DockerMessage(answer->body))));
       });
}

void DockerApi::Start(const std::string& name, Done<void> done) {
  Call({.method = "POST", .target = prefix_ + ContainerPath(name) + "/start", .timeout = kSlowCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         if (!answer) return done(tl::unexpected(answer.error()));
         // 304: it runs already.
         if (IsSuccess(answer->status) || answer->status == 304) return done({});
         done(tl::unexpected(StartError(answer->status, DockerMessage(answer->body))));
       });
}

void DockerApi::Inspect(const std::string& name, seconds timeout, Done<DockerState> done) {
  Call({.target = prefix_ + ContainerPath(name) + "/json", .timeout = timeout},
       [done = std::move(done)](Result<HttpResponse> answer) {
         done(Read<DockerState>(answer, ParseDockerState));
       });
}

void DockerApi::Measure(const std::string& name, Done<DockerState> done) {
  Call({.target = prefix_ + ContainerPath(name) + "/json?size=1", .timeout = kSlowCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         done(Read<DockerState>(answer, ParseDockerState));
       });
}

void DockerApi::Remove(const std::string& name, Done<void> done) {
  // v: with the volumes that its image made it have.
  Call({.method = "DELETE",
        .target = prefix_ + ContainerPath(name) + "?force=1&v=1",
        .timeout = kSlowCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         if (!answer) return done(tl::unexpected(answer.error()));
         if (IsSuccess(answer->status) || answer->status == 404) return done({});
         done(Refused(*answer));
       });
}

void DockerApi::List(const std::string& label, const std::string& value,
                     Done<std::vector<std::string>> done) {
  Call({.target = prefix_ + "/containers/json?all=1&filters=" +
                  PercentEncode(FormatDockerLabelFilter(label, value)),
        .timeout = kQuickCall},
       [done = std::move(done)](Result<HttpResponse> answer) {
         done(Read<std::vector<std::string>>(answer, ParseDockerNames));
       });
}

}  // namespace tidemill
