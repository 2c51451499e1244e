// SPDX-License-Identifier: Apache-2.0
#include "cloud/aws_query.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/digest.h"
#include "cloud/aws_credentials.h"
#include "cloud/token_bucket.h"
#include "cloud/web.h"

namespace tidemill {
namespace {

constexpr std::chrono::seconds kCallTimeout{15};
constexpr char kContentType[] = "application/x-www-form-urlencoded; charset=utf-8";
// Services times regions: more is a mistake of whoever names regions.
constexpr std::size_t kUrlsMost = 128;

std::string VersionOf(std::string_view service) {
  if (service == "autoscaling") return "2011-01-01";
  if (service == "ec2") return "2016-11-15";
  if (service == "sts") return "2011-06-15";
  return "";
}

std::string FormOf(const AwsAction& action) {
  std::string form = "Action=" + action.name + "&Version=" + VersionOf(action.service);
  for (const auto& [name, value] : action.params) {
    form.append("&").append(PercentEncode(name)).append("=").append(PercentEncode(value));
  }
  return form;
}

Result<WebUrl> UrlOf(const CloudWorld& world, const AwsAction& action) {
  if (!IsAwsRegion(action.region)) {
    return Fail(Code::kInvalid, "'" + action.region + "' is not a region of AWS");
  }
  std::string capitals = action.service;
  for (char& c : capitals) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  // A profile that is wrong is told by the credentials.
  const auto profile = LoadAwsProfile(world);
  std::string url = AwsEndpoint(world, profile ? *profile : AwsProfile{}, capitals);
  if (url.empty()) {
    url = "https://" + action.service + "." + action.region + "." + AwsDomain(action.region);
  }
  auto parsed = ParseWebUrl(url);
  if (!parsed) return While("the endpoint of " + action.service, parsed.error());
  if (!parsed->origin.tls && !IsNear(parsed->origin.host)) {
    return Fail(Code::kInvalid, "the endpoint of " + action.service + " must be https://");
  }
  return parsed;
}

HttpCall CallOf(const WebUrl& url, const AwsAction& action, const AwsKeys& keys,
                std::int64_t now_ms) {
  HttpCall call{.method = "POST", .body = FormOf(action), .timeout = kCallTimeout};
  AwsSigned made = SignAws({.method = call.method,
                            .host = Authority(url.origin),
                            .path = url.target,
                            .headers = {{"Content-Type", kContentType}},
                            .payload = Hex(Sha256(call.body))},
                           keys, {.region = action.region, .service = action.service}, now_ms);
  call.target = std::move(made.target);
  call.headers = std::move(made.headers);
  return call;
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

bool IsThrottling(std::string_view code) {
  return code.find("Throttl") != code.npos ||
         IsOneOf(code, {"RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown",
                        "TooManyRequestsException", "ServiceUnavailable", "Unavailable",
                        "InternalError", "InternalFailure", "RequestTimeout"});
}

bool IsAboutWhoAsks(std::string_view code) {
  return code.starts_with("AccessDenied") || code.starts_with("Unauthorized") ||
         code.starts_with("ExpiredToken") ||
         IsOneOf(code, {"AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch",
                        "IncompleteSignature", "MissingAuthenticationToken", "RequestExpired",
                        "OptInRequired", "Blocked", "UnrecognizedClientException",
                        "PendingVerification"});
}

Code CodeOf(int status, std::string_view code) {
  if (IsThrottling(code)) return Code::kUnavailable;
  if (IsAboutWhoAsks(code) || status == 401 || status == 403) return Code::kForbidden;
  if (code.find("NotFound") != code.npos) return Code::kNotFound;
  if (IsOneOf(code, {"AlreadyExists", "AlreadyExistsException", "ScalingActivityInProgress",
                     "ResourceContention", "ResourceInUse", "IncorrectInstanceState",
                     "InvalidLaunchTemplateName.AlreadyExistsException"})) {
    return Code::kConflict;
  }
  if (code.find("LimitExceeded") != code.npos) return Code::kExhausted;
  if (status == 429 || status >= 500) return Code::kUnavailable;
  return Code::kInvalid;
}

bool MayPass(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kUnknown;
}

}  // namespace

bool IsAwsError(const Error& error, std::string_view code) {
  return error.reason.starts_with(code) && error.reason.substr(code.size()).starts_with(": ");
}

Result<XmlElement> ReadAwsAnswer(const Result<HttpResponse>& got) {
  if (!got) return tl::unexpected<Error>(got.error());
  if (got->status != 200) {
    const AwsXmlError error = ParseAwsXmlError(got->body);
    std::string words = error.Text();
    if (error.code.empty()) words = "it answers " + std::to_string(got->status) + ", " + words;
    return Fail(CodeOf(got->status, error.code), std::move(words));
  }
  auto root = ParseXml(got->body);
  // It was done; a call that only asks may ask again.
  if (!root) return Fail(Code::kUnknown, root.error().reason);
  return root;
}

std::string NextAwsPage(const AwsAction& action, const XmlElement& page) {
  std::string next = page.At("nextToken");
  return next.empty() ? page.At(action.name + "Result/NextToken") : next;
}

struct AwsQuery::Impl {
  // One call, with all its tries.
  struct Trying {
    AwsAction action;
    WebUrl url;
    Done done;
    TimePoint until{};
    int tried = 0;
  };
  struct Paging {
    AwsAction action;
    PagesDone done;
    std::vector<XmlElement> pages = {};
  };

  Impl(AsioLoop& a_loop, Random& a_random, CloudWorld a_world, AwsQueryLimits some_limits)
      : loop(a_loop),
        random(a_random),
        world(std::move(a_world)),
        limits(some_limits),
        web(loop, {.tls = world.tls}),
        credentials(loop, world),
        bucket(limits.calls_a_second, limits.burst) {}

  void After(Duration wait, std::function<void()> call) {
    loop.After(wait, [alive = std::weak_ptr<char>(alive), call = std::move(call)] {
      if (!alive.expired()) call();
    });
  }
  Result<WebUrl> FindUrl(const AwsAction& action);
  void Begin(AwsAction action, Done done);
  void Wait(const std::shared_ptr<Trying>& trying);
  void Send(const std::shared_ptr<Trying>& trying);
  void OnAnswer(const std::shared_ptr<Trying>& trying, Result<XmlElement> answer);
  void NextPage(const std::shared_ptr<Paging>& paging);

  // Constant after construction.
  AsioLoop& loop;
  Random& random;
  const CloudWorld world;
  const AwsQueryLimits limits;

  // Loop thread only.
  Web web;
  AwsCredentials credentials;
  TokenBucket bucket;
  std::map<std::pair<std::string, std::string>, WebUrl> urls;  // by service and region
  const std::shared_ptr<char> alive = std::make_shared<char>();
};

Result<WebUrl> AwsQuery::Impl::FindUrl(const AwsAction& action) {
  const auto found = urls.find({action.service, action.region});
  if (found != urls.end()) return found->second;
  TIDEMILL_TRY(WebUrl url, UrlOf(world, action));
  if (urls.size() >= kUrlsMost) urls.clear();
  urls.emplace(std::pair(action.service, action.region), url);
  return url;
}

void AwsQuery::Impl::Begin(AwsAction action, Done done) {
  auto url = FindUrl(action);
  if (!url) {
    return After(Duration::zero(), [done = std::move(done), error = url.error()] {
      done(tl::unexpected<Error>(error));
    });
  }
  auto trying = std::make_shared<Trying>(
      Trying{std::move(action), *std::move(url), std::move(done), loop.Now() + limits.whole});
  Wait(trying);
}

void AwsQuery::Impl::Wait(const std::shared_ptr<Trying>& trying) {
  const TimePoint now = loop.Now();
  const auto wait = bucket.Take(now, std::max(trying->until - now, Duration::zero()));
  if (!wait) {
    return After(Duration::zero(), [trying] {
      trying->done(Fail(Code::kUnavailable, "too many calls to AWS wait"));
    });
  }
  After(*wait, [this, trying] { Send(trying); });
}

void AwsQuery::Impl::Send(const std::shared_ptr<Trying>& trying) {
  ++trying->tried;
  credentials.Get([this, trying](const Result<AwsKeys>& keys) {
    if (!keys) return OnAnswer(trying, tl::unexpected<Error>(keys.error()));
    // Each try is signed anew: a signature is good for some minutes only.
    web.Send(
        trying->url.origin, CallOf(trying->url, trying->action, *keys, world.now_ms()), {.most = 1},
        [this, trying](const Result<HttpResponse>& got) { OnAnswer(trying, ReadAwsAnswer(got)); });
  });
}

void AwsQuery::Impl::OnAnswer(const std::shared_ptr<Trying>& trying, Result<XmlElement> answer) {
  if (answer || !MayPass(answer.error())) return trying->done(std::move(answer));
  const TimePoint now = loop.Now();
  bucket.Empty(now);
  const Duration full =
      std::min(limits.first_wait * (1 << std::min(trying->tried - 1, 10)), limits.longest_wait);
  // Half of it is random: those who were throttled together do not come back together.
  const Duration wait = full / 2 + Duration(random.Below(full.count() / 2 + 1));
  if (trying->tried >= limits.tries || now + wait >= trying->until) {
    return trying->done(std::move(answer));
  }
  After(wait, [this, trying] { Wait(trying); });
}

void AwsQuery::Impl::NextPage(const std::shared_ptr<Paging>& paging) {
  AwsAction action = paging->action;
  if (!paging->pages.empty()) {
    action.params.emplace_back("NextToken", NextAwsPage(action, paging->pages.back()));
  }
  Begin(std::move(action), [this, paging](Result<XmlElement> page) {
    if (!page) return paging->done(tl::unexpected<Error>(page.error()));
    paging->pages.push_back(*std::move(page));
    if (NextAwsPage(paging->action, paging->pages.back()).empty()) {
      return paging->done(std::move(paging->pages));
    }
    if (static_cast<int>(paging->pages.size()) < limits.pages) return NextPage(paging);
    paging->done(Fail(Code::kExhausted,
                      "the list has more than " + std::to_string(limits.pages) + " pages"));
  });
}

AwsQuery::AwsQuery(AsioLoop& loop, Random& random, CloudWorld world, AwsQueryLimits limits)
    : impl_(std::make_unique<Impl>(loop, random, std::move(world), limits)) {}
AwsQuery::~AwsQuery() = default;

void AwsQuery::Call(AwsAction action, Done done) {
  impl_->Begin(std::move(action), std::move(done));
}

void AwsQuery::Pages(AwsAction action, PagesDone done) {
  impl_->NextPage(std::make_shared<Impl::Paging>(Impl::Paging{std::move(action), std::move(done)}));
}

}  // namespace tidemill
