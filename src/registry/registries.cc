// SPDX-License-Identifier: Apache-2.0
#include "registry/registries.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/digest.h"
#include "net/http_client.h"
#include "net/public_address.h"
#include "registry/challenge.h"
#include "wire/registry_json.h"

namespace tidemill {
namespace {

constexpr std::size_t kManifestBytes = 4 << 20;
constexpr std::size_t kTokenBytes = 64 << 10;
constexpr int kMostRedirects = 3;
constexpr int kMostManifests = 2;  // an index, and one in it
constexpr char kAccept[] =
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

// The one whose name is not where it is.
std::string HostOf(const RegistryPath& path) {
  return path.host == "docker.io" ? "registry-1.docker.io" : path.host;
}

// Clear text is only for this machine, as Docker has it.
Result<Origin> OriginOf(const std::string& host) {
  if (auto here = ParseSafeUrl("http://" + host)) return *std::move(here);
  return ParseUrl("https://" + host);
}

std::string DigestOf(std::string_view body) { return "sha256:" + Hex(Sha256(body)); }

tl::unexpected<Error> NotAllowed() {
  return Fail(Code::kForbidden, "is not one that this server may ask");
}

// Read once: it is a file of some hundred certificates.
RegistryOptions WithTrust(RegistryOptions options) {
  if (!options.tls) options.tls = TlsTrust::System();
  return options;
}

std::string BasicOf(const RegistryLogin& login) {
  return "Basic " + EncodeBase64(login.user + ":" + login.password);
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// The path and query that a redirect leads to, if it stays with this server.
std::optional<std::string> TargetOn(const Origin& origin, std::string_view location) {
  const std::string here = (origin.tls ? "https://" : "http://") + Authority(origin);
  if (location.starts_with(here + "/")) location.remove_prefix(here.size());
  if (!location.starts_with('/') || location.starts_with("//")) return std::nullopt;
  return std::string(location);
}

}  // namespace

bool IsListed(const RegistryRules& rules, const Origin& origin) {
  const std::string with_port = origin.host + ":" + std::to_string(origin.port);
  return std::any_of(rules.listed.begin(), rules.listed.end(), [&](const std::string& each) {
    return each == origin.host || each == with_port;
  });
}

Result<void> CheckListed(const std::string& registry) {
  TIDEMILL_TRY(const Origin origin, ParseUrl("https://" + registry));
  const bool is_plain =
      registry == origin.host || registry == origin.host + ":" + std::to_string(origin.port);
  if (!is_plain) return Fail(Code::kInvalid, "HOST or HOST:PORT is needed");
  return {};
}

struct Registries::Question {
  Origin origin = {};
  std::string path = {};
  std::string tag = {};
  std::optional<RegistryLogin> login = {};
  bool config = false;  // what the image says of itself; its tag is a digest then
};

struct Registries::Answer {
  std::string digest = {};
  ImageConfig config = {};
};

// One question, from its beginning to `done`. Held by Registries; holds its connections.
//
//   Ask ──▶ OnAnswer ──▶ 401 ──▶ AskToken ──▶ Ask        each step at most once, but for
//               │    └─▶ redirect, or no digest ──▶ Ask  redirects
//               ├─▶ index ──▶ manifest ──▶ config ──▶ Ask, if the config is wanted
//               └─▶ Finish
class Registries::Lookup {
 public:
  using AnswerDone = std::function<void(Result<Answer>)>;
  Lookup(Registries& owner, Question question, AnswerDone done)
      : owner_(owner),
        question_(std::move(question)),
        done_(std::move(done)),
        deadline_(owner.loop_.Now() + owner.options_.deadline),
        method_(question_.config ? "GET" : "HEAD"),
        target_("/v2/" + question_.path + "/manifests/" + question_.tag),
        wanted_(question_.tag) {}

  void Ask() {
    if (!registry_) registry_ = Connect(question_.origin, kManifestBytes);
    HttpCall call{.method = method_, .target = target_};
    call.headers.emplace_back("Accept", kAccept);
    if (!authorization_.empty()) call.headers.emplace_back("Authorization", authorization_);
    Send(*registry_, std::move(call), [this](const HttpResponse& answer) { OnAnswer(answer); });
  }

 private:
  std::unique_ptr<HttpClient> Connect(const Origin& origin, std::size_t body_bytes) {
    HttpClientOptions options;
    options.max_connections = 1;
    options.max_body_bytes = body_bytes;
    options.tls = owner_.options_.tls;
    options.may_connect = owner_.MayConnect(origin);
    return std::make_unique<HttpClient>(owner_.loop_, origin, std::move(options));
  }

  template <typename Next>
  void Send(HttpClient& client, HttpCall call, Next next) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - owner_.loop_.Now());
    call.timeout = std::max(left, std::chrono::milliseconds(1));
    client.Send(std::move(call), [this, next = std::move(next)](Result<HttpResponse> answer) {
      if (answer) return next(*answer);
      if (answer.error().code == Code::kForbidden) return Finish(NotAllowed());
      Finish(Fail(Code::kUnavailable, "cannot be asked: " + answer.error().reason));
    });
  }

  void OnAnswer(const HttpResponse& answer) {
    if (answer.status == 200) return question_.config ? OnPart(answer.body) : OnFound(answer);
    if (answer.status == 401 && authorization_.empty()) return OnChallenge(answer);
    if (IsRedirect(answer.status)) return OnRedirect(answer);
    if (answer.status == 404) return Finish(Fail(Code::kNotFound, "has no such image"));
    if (answer.status == 401 || answer.status == 403) return Finish(WantsLogin());
    Finish(Fail(Code::kUnavailable, "answers with status " + std::to_string(answer.status)));
  }

  void OnFound(const HttpResponse& answer) {
    const std::string* digest = FindField(answer.headers, "Docker-Content-Digest");
    if (digest != nullptr) {
      if (IsImageDigest(*digest)) return Finish(Answer{.digest = *digest});
      return Finish(Fail(Code::kUnavailable, "gives a digest that is none"));
    }
    if (method_ == "GET") return Finish(Answer{.digest = DigestOf(answer.body)});
    method_ = "GET";
    Ask();
  }

  // An index, a manifest, or at last the config.
  void OnPart(const std::string& body) {
    if (DigestOf(body) != wanted_) {
      return Finish(Fail(Code::kUnavailable, "sends something that has another digest"));
    }
    if (at_config_) {
      auto config = ParseImageConfig(body);
      if (!config) return Finish(Fail(Code::kUnavailable, "has a config that makes no sense"));
      return Finish(Answer{.config = *std::move(config)});
    }
    const auto manifest = ParseImageManifest(body);
    if (!manifest || ++manifests_ > kMostManifests) {
      return Finish(Fail(Code::kUnavailable, "has a manifest that makes no sense"));
    }
    at_config_ = !manifest->config.empty();
    wanted_ = at_config_ ? manifest->config : manifest->manifest;
    target_ = "/v2/" + question_.path + (at_config_ ? "/blobs/" : "/manifests/") + wanted_;
    Ask();
  }

  void OnRedirect(const HttpResponse& answer) {
    const std::string* location = FindField(answer.headers, "Location");
    auto target = location == nullptr ? std::nullopt : TargetOn(question_.origin, *location);
    if (++redirects_ > kMostRedirects || location == nullptr || (!target && !at_config_)) {
      return Finish(Fail(Code::kUnavailable, "sends us elsewhere"));
    }
    if (!target) return AskElsewhere(*location);
    target_ = *std::move(target);
    Ask();
  }

  // Blobs are often in an object store, to which the URL itself is the key. The login stays here.
  void AskElsewhere(const std::string& location) {
    const auto place = TargetOfUrl(location);
    if (!place) return Finish(Fail(Code::kUnavailable, "sends us elsewhere"));
    if (!owner_.MayAsk(place->origin)) return Finish(NotAllowed());
    elsewhere_ = Connect(place->origin, kManifestBytes);
    Send(*elsewhere_, {.method = "GET", .target = place->target},
         [this](const HttpResponse& answer) {
           if (answer.status == 200) return OnPart(answer.body);
           Finish(Fail(Code::kUnavailable, "sends us elsewhere, where it is not"));
         });
  }

  void OnChallenge(const HttpResponse& answer) {
    const std::string* field = FindField(answer.headers, "WWW-Authenticate");
    const auto challenge = field == nullptr ? std::nullopt : ParseChallenge(*field);
    if (!challenge) return Finish(WantsLogin());
    if (challenge->bearer) return AskToken(*challenge);
    if (!question_.login) return Finish(WantsLogin());
    authorization_ = BasicOf(*question_.login);
    Ask();
  }

  void AskToken(const Challenge& challenge) {
    const auto target = TokenTargetOf(challenge, question_.path);
    if (!target) return Finish(Fail(Code::kUnavailable, "names a realm that cannot be asked"));
    if (!owner_.MayAsk(target->origin)) return Finish(NotAllowed());
    realm_ = Connect(target->origin, kTokenBytes);
    HttpCall call{.method = "GET", .target = target->target};
    if (question_.login) call.headers.emplace_back("Authorization", BasicOf(*question_.login));
    Send(*realm_, std::move(call), [this](const HttpResponse& answer) { OnToken(answer); });
  }

  void OnToken(const HttpResponse& answer) {
    if (answer.status == 401 || answer.status == 403) return Finish(WantsLogin());
    const auto token = ParseRegistryToken(answer.body);
    if (answer.status != 200 || !token) {
      return Finish(Fail(Code::kUnavailable, "has a realm that gives no token"));
    }
    authorization_ = "Bearer " + *token;
    Ask();
  }

  tl::unexpected<Error> WantsLogin() const {
    return Fail(Code::kNobody, question_.login ? "refuses this login" : "wants a login");
  }

  // Ends this object.
  void Finish(Result<Answer> result) {
    if (!result) result.error().reason.insert(0, Authority(question_.origin) + " ");
    const AnswerDone done = std::move(done_);
    owner_.lookups_.erase(this);
    done(std::move(result));
  }

  Registries& owner_;
  const Question question_;
  AnswerDone done_;
  const TimePoint deadline_;
  std::string method_;
  std::string target_;
  std::string wanted_;  // the digest of what is to come, if the config is wanted
  bool at_config_ = false;
  int manifests_ = 0;
  std::string authorization_;
  int redirects_ = 0;
  std::unique_ptr<HttpClient> registry_;
  std::unique_ptr<HttpClient> realm_;
  std::unique_ptr<HttpClient> elsewhere_;
};

Registries::Registries(AsioLoop& loop, RegistryOptions options)
    : loop_(loop), options_(WithTrust(std::move(options))) {}

Registries::~Registries() = default;

bool Registries::MayAsk(const Origin& origin) const {
  return options_.rules.any_public || IsListed(options_.rules, origin);
}

std::function<bool(const std::string&)> Registries::MayConnect(const Origin& origin) const {
  if (IsListed(options_.rules, origin)) return {};
  return IsPublicAddress;
}

void Registries::ResolveDigest(const ImageName& image, std::optional<RegistryLogin> login,
                               Done done) {
  Start(image, {.tag = image.tag, .login = std::move(login)},
        [done = std::move(done)](Result<Answer> answer) {
          done(std::move(answer).map([](Answer found) { return std::move(found.digest); }));
        });
}

void Registries::ReadConfig(const ImageName& image, const std::string& digest,
                            std::optional<RegistryLogin> login, ConfigDone done) {
  Start(image, {.tag = digest, .login = std::move(login), .config = true},
        [done = std::move(done)](Result<Answer> answer) {
          done(std::move(answer).map([](Answer found) { return std::move(found.config); }));
        });
}

void Registries::Start(const ImageName& image, Question question,
                       std::function<void(Result<Answer>)> done) {
  const RegistryPath path = RegistryPathOf(image);
  const auto origin = OriginOf(HostOf(path));
  if (!origin) return done(Fail(Code::kForbidden, path.host + " is no registry's host"));
  if (!MayAsk(*origin))
    return done(Fail(Code::kForbidden, path.host + " " + NotAllowed().value().reason));
  if (lookups_.size() >= options_.most_at_once) {
    return done(Fail(Code::kExhausted, "too many registries are being asked"));
  }
  question.origin = *origin;
  question.path = path.path;
  auto lookup = std::make_unique<Lookup>(*this, std::move(question), std::move(done));
  Lookup* const started = lookup.get();
  lookups_.emplace(started, std::move(lookup));
  started->Ask();
}

}  // namespace tidemill
