// SPDX-License-Identifier: Apache-2.0
#include "cloud/google_tokens.h"

#include <utility>

#include "cloud/rs256.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr char kScope[] = "https://www.googleapis.com/auth/cloud-platform";
constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";
constexpr char kMetadataPath[] = "/computeMetadata/v1/instance/service-accounts/default/token";
// Google gives no longer ones.
constexpr std::int64_t kAssertionLastsS = 3600;
constexpr std::chrono::seconds kTokenTimeout{10};
constexpr std::chrono::seconds kGoogleTokenTimeout{3};

Result<std::string> FormFor(const GoogleKeyFile& file, const std::string& uri,
                            std::int64_t now_ms) {
  if (file.type == "authorized_user") {
    return "grant_type=refresh_token&client_id=" + PercentEncode(file.client_id) +
           "&client_secret=" + PercentEncode(file.client_secret) +
           "&refresh_token=" + PercentEncode(file.refresh_token);
  }
  const std::string claims = FormatGoogleClaims({.email = file.email,
                                                 .scope = kScope,
                                                 .audience = uri,
                                                 .from_s = now_ms / 1000,
                                                 .until_s = now_ms / 1000 + kAssertionLastsS});
  const std::string text =
      EncodeBase64Url(FormatRs256Header(file.private_key_id)) + "." + EncodeBase64Url(claims);
  TIDEMILL_TRY(const std::string signature, SignRs256(file.private_key, text));
  return "grant_type=" + PercentEncode("urn:ietf:params:oauth:grant-type:jwt-bearer") +
         "&assertion=" + text + "." + EncodeBase64Url(signature);
}

Result<GoogleCall> CallForFile(const CloudWorld& world, const std::string& path,
                               const std::string& text) {
  auto file = ParseGoogleKeyFile(text);
  if (!file) return While(path, file.error());
  const std::string uri = file->token_uri.empty() ? kTokenUri : file->token_uri;
  GoogleCall made;
  auto url = ParseWebUrl(uri);
  if (!url) return While(path + ": token_uri", url.error());
  if (!url->origin.tls && !IsNear(url->origin.host)) {
    return Fail(Code::kInvalid, path + ": token_uri must be https://");
  }
  made.url = *std::move(url);
  auto form = FormFor(*file, uri, world.now_ms());
  if (!form) return While(path, form.error());
  made.place = path;
  made.call.method = "POST";
  made.call.target = made.url.target;
  made.call.content_type = "application/x-www-form-urlencoded";
  made.call.body = *std::move(form);
  made.call.timeout = kTokenTimeout;
  return made;
}

Result<GoogleCall> CallForMetadata(const CloudWorld& world) {
  GoogleCall made;
  TIDEMILL_TRY(made.url.origin, GoogleMetadataOrigin(world));
  made.place = "the metadata server at " + Authority(made.url.origin);
  made.is_metadata = true;
  made.call.target = kMetadataPath;
  made.call.headers.emplace_back("Metadata-Flavor", "Google");
  made.call.timeout = kGoogleTokenTimeout;
  return made;
}

std::string WellKnownFile(const CloudWorld& world) {
  const std::string folder = world.Variable("CLOUDSDK_CONFIG");
  return (folder.empty() ? world.InHome("~/.config/gcloud") : folder) +
         "/application_default_credentials.json";
}

// Where nothing was, for the error that names all places.
std::string LookedBefore(const CloudWorld& world) {
  return "GOOGLE_APPLICATION_CREDENTIALS (not set), " + WellKnownFile(world) + " (not there), ";
}

Result<Lasting<std::string>> ReadAnswer(const GoogleCall& made, const CloudWorld& world,
                                        const Result<HttpResponse>& got) {
  const auto nobody = [&](Code code, const std::string& why) {
    return Fail(code, "no credentials for Google; looked at " + LookedBefore(world) + made.place +
                          " (" + why + ")");
  };
  if (!got) {
    if (made.is_metadata) return nobody(Code::kUnavailable, got.error().reason);
    return While(made.place + ": " + Authority(made.url.origin), got.error());
  }
  if (got->status != 200) {
    const std::string why = std::to_string(got->status) + ", " + GoogleMessage(got->body);
    const Code code = got->status >= 500 ? Code::kUnavailable : Code::kForbidden;
    if (!made.is_metadata) return Fail(code, made.place + ": Google answers " + why);
    if (got->status == 404) return nobody(Code::kNobody, "the machine has no service account");
    return nobody(code, "it answers " + why);
  }
  auto token = ParseGoogleToken(got->body);
  if (!token) return While(made.place, token.error());
  return Lasting<std::string>{std::move(token->token), world.now_ms() + token->lasts_s * 1000};
}

}  // namespace

Result<Origin> GoogleMetadataOrigin(const CloudWorld& world) {
  const std::string set = world.Variable("GCE_METADATA_HOST");
  auto origin = ParseUrl("http://" + (set.empty() ? "metadata.google.internal" : set));
  if (!origin) return While("GCE_METADATA_HOST", origin.error());
  if (!IsNear(origin->host)) {
    return Fail(Code::kInvalid, "GCE_METADATA_HOST must be this machine or Google's own address");
  }
  return *std::move(origin);
}

Result<GoogleCall> GoogleTokenCall(const CloudWorld& world) {
  const std::string named = world.Variable("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string path = named.empty() ? WellKnownFile(world) : named;
  const auto text = ReadKeyFile(path);
  if (text) return CallForFile(world, path, *text);
  if (!named.empty()) {
    return Fail(Code::kInvalid, "GOOGLE_APPLICATION_CREDENTIALS: " + text.error().reason);
  }
  if (text.error().code != Code::kNotFound) return tl::unexpected<Error>(text.error());
  return CallForMetadata(world);
}

struct GoogleTokens::Impl {
  using Fetched = std::function<void(Result<Lasting<std::string>>)>;

  Impl(AsioLoop& loop, CloudWorld a_world)
      : world(std::move(a_world)),
        web(loop, {.tls = world.tls}),
        kept(loop, world.now_ms, [this](Fetched done) { Fetch(std::move(done)); }) {}

  void Fetch(Fetched done) {
    const auto made = GoogleTokenCall(world);
    if (!made) return done(While("credentials for Google", made.error()));
    web.Send(made->url.origin, made->call, {},
             [this, made = *made, done = std::move(done)](const Result<HttpResponse>& got) {
               done(ReadAnswer(made, world, got));
             });
  }

  const CloudWorld world;
  Web web;
  Kept<std::string> kept;
};

GoogleTokens::GoogleTokens(AsioLoop& loop, CloudWorld world)
    : impl_(std::make_unique<Impl>(loop, std::move(world))) {}
GoogleTokens::~GoogleTokens() = default;

void GoogleTokens::Get(Done done) { impl_->kept.Get(std::move(done)); }

}  // namespace tidemill
