// SPDX-License-Identifier: Apache-2.0
#include "cloud/registry_role.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/digest.h"
#include "cloud/aws_credentials.h"
#include "cloud/google_tokens.h"
#include "cloud/kept.h"
#include "cloud/sigv4.h"
#include "cloud/web.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr std::chrono::seconds kEcrTimeout{10};
// A job names few regions; each has its keys asked for and its token kept.
constexpr std::size_t kRegionsMost = 64;

bool Drop(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

bool DropEnd(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

// A host's parts, with no dot at its ends and none twice.
bool IsLabels(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         text.find("..") == text.npos && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

std::optional<CloudRegistry> EcrOf(std::string_view host) {
  constexpr std::size_t kAccountDigits = 12;
  const bool is_china = DropEnd(host, ".amazonaws.com.cn");
  if (!is_china && !DropEnd(host, ".amazonaws.com")) return std::nullopt;
  const std::string_view account = host.substr(0, kAccountDigits);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (account.size() != kAccountDigits || !std::all_of(account.begin(), account.end(), is_digit)) {
    return std::nullopt;
  }
  host.remove_prefix(kAccountDigits);
  CloudRegistry registry{.kind = CloudRegistry::Kind::kEcr};
  registry.fips = Drop(host, ".dkr.ecr-fips.");
  if (!registry.fips && !Drop(host, ".dkr.ecr.")) return std::nullopt;
  if (!IsAwsRegion(host) || host.starts_with("cn-") != is_china) return std::nullopt;
  registry.region = host;
  return registry;
}

Result<WebUrl> EcrUrl(const CloudWorld& world, const CloudRegistry& registry) {
  // A profile that is wrong is told by the credentials.
  const auto profile = LoadAwsProfile(world);
  std::string url = AwsEndpoint(world, profile ? *profile : AwsProfile{}, "ECR");
  if (url.empty()) {
    url = "https://" + std::string(registry.fips ? "ecr-fips." : "api.ecr.") + registry.region +
          "." + AwsDomain(registry.region);
  }
  auto parsed = ParseWebUrl(url);
  if (!parsed) return While("the endpoint of ECR", parsed.error());
  if (!parsed->origin.tls && !IsNear(parsed->origin.host)) {
    return Fail(Code::kInvalid, "the endpoint of ECR must be https://");
  }
  return parsed;
}

HttpCall EcrCall(const WebUrl& url, const CloudRegistry& registry, const AwsKeys& keys,
                 std::int64_t now_ms) {
  HttpCall call{.method = "POST", .body = "{}", .timeout = kEcrTimeout};
  AwsSigned made = SignAws(
      {.method = call.method,
       .host = Authority(url.origin),
       .headers = {{"Content-Type", "application/x-amz-json-1.1"},
                   {"X-Amz-Target", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"}},
       .payload = Hex(Sha256(call.body))},
      keys, {.region = registry.region, .service = "ecr"}, now_ms);
  call.target = std::move(made.target);
  call.headers = std::move(made.headers);
  return call;
}

Result<Lasting<RegistryLogin>> ReadEcr(const Result<HttpResponse>& got) {
  if (!got) return tl::unexpected<Error>(got.error());
  if (got->status != 200) {
    const bool is_busy = got->status == 429 || got->status >= 500;
    return Fail(is_busy ? Code::kUnavailable : Code::kForbidden,
                "it answers " + std::to_string(got->status) + ", " + AwsJsonMessage(got->body));
  }
  TIDEMILL_TRY(const EcrTokenAnswer answer, ParseEcrToken(got->body));
  const auto pair = DecodeBase64(answer.token);
  auto login = pair ? ParseRegistryLogin(*pair) : Fail(Code::kInvalid, "");
  if (!login) return Fail(Code::kInvalid, "its token is no login");
  return Lasting<RegistryLogin>{*std::move(login), answer.expires_ms};
}

}  // namespace

std::optional<CloudRegistry> CloudRegistryOf(std::string_view host) {
  if (!IsLabels(host)) return std::nullopt;
  if (auto ecr = EcrOf(host)) return ecr;
  if (host == "gcr.io" || host.ends_with(".gcr.io") || host.ends_with("-docker.pkg.dev")) {
    return CloudRegistry{.kind = CloudRegistry::Kind::kGoogle};
  }
  return std::nullopt;
}

Result<CloudRegistry> ParseCloudRegistry(std::string_view text) {
  if (text == "google") return CloudRegistry{.kind = CloudRegistry::Kind::kGoogle};
  if (Drop(text, "aws:") && IsAwsRegion(text)) {
    return CloudRegistry{.kind = CloudRegistry::Kind::kEcr, .region = std::string(text)};
  }
  return Fail(Code::kInvalid, "neither aws:REGION nor google");
}

struct RegistryRoles::Impl {
  Impl(AsioLoop& a_loop, RegistryRolesOptions some_options)
      : loop(a_loop),
        options(std::move(some_options)),
        web(loop, {.tls = options.world.tls}),
        aws(loop, options.world),
        google(loop, options.world) {}

  using EcrDone = std::function<void(Result<Lasting<RegistryLogin>>)>;
  void FetchEcr(const CloudRegistry& registry, const EcrDone& done);
  // Null: there are too many.
  Kept<RegistryLogin>* EcrOf(const CloudRegistry& registry);

  // Constant after construction.
  AsioLoop& loop;
  const RegistryRolesOptions options;

  // Loop thread only.
  Web web;
  AwsCredentials aws;
  GoogleTokens google;
  std::map<std::string, Kept<RegistryLogin>> ecr;  // a token is good for a whole region
  const std::shared_ptr<char> alive = std::make_shared<char>();
};

void RegistryRoles::Impl::FetchEcr(const CloudRegistry& registry, const EcrDone& done) {
  const auto url = EcrUrl(options.world, registry);
  if (!url) return done(tl::unexpected<Error>(url.error()));
  aws.Get([this, registry, url = *url, done](const Result<AwsKeys>& keys) {
    if (!keys) return done(tl::unexpected<Error>(keys.error()));
    // The second try has the same signature, which is good for some minutes.
    web.Send(url.origin, EcrCall(url, registry, *keys, options.world.now_ms()), {.most = 2},
             [url, done](const Result<HttpResponse>& got) {
               auto login = ReadEcr(got);
               if (!login) return done(While("ECR at " + Authority(url.origin), login.error()));
               done(std::move(login));
             });
  });
}

Kept<RegistryLogin>* RegistryRoles::Impl::EcrOf(const CloudRegistry& registry) {
  const std::string key = registry.region + (registry.fips ? " fips" : "");
  if (const auto found = ecr.find(key); found != ecr.end()) return &found->second;
  if (ecr.size() >= kRegionsMost) return nullptr;
  const auto fetch = [this, registry](const EcrDone& done) { FetchEcr(registry, done); };
  return &ecr.try_emplace(key, loop, options.world.now_ms, fetch).first->second;
}

RegistryRoles::RegistryRoles(AsioLoop& loop, RegistryRolesOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}
RegistryRoles::~RegistryRoles() = default;

void RegistryRoles::LoginFor(const std::string& host, Done<std::optional<RegistryLogin>> done) {
  const auto soon = [this, &done](Result<std::optional<RegistryLogin>> result) {
    impl_->loop.After(Duration::zero(), [alive = std::weak_ptr<char>(impl_->alive),
                                         done = std::move(done), result = std::move(result)] {
      if (!alive.expired()) done(result);
    });
  };
  const auto named = impl_->options.hosts.find(host);
  const auto registry =
      named == impl_->options.hosts.end() ? CloudRegistryOf(host) : std::optional(named->second);
  if (!registry) return soon(std::optional<RegistryLogin>());
  if (registry->kind == CloudRegistry::Kind::kGoogle) {
    return impl_->google.Get([done = std::move(done)](Result<std::string> token) {
      if (!token) return done(tl::unexpected<Error>(token.error()));
      done(std::optional(RegistryLogin{"oauth2accesstoken", *std::move(token)}));
    });
  }
  Kept<RegistryLogin>* const ecr = impl_->EcrOf(*registry);
  if (ecr == nullptr) return soon(Fail(Code::kExhausted, "images of too many regions"));
  ecr->Get([done = std::move(done)](Result<RegistryLogin> login) {
    if (!login) return done(tl::unexpected<Error>(login.error()));
    done(std::optional(*std::move(login)));
  });
}

}  // namespace tidemill
