// SPDX-License-Identifier: Apache-2.0
#include "cloud/metadata.h"

#include <utility>

#include "cloud/google_tokens.h"
#include "cloud/imds.h"
#include "cloud/kept.h"
#include "cloud/web.h"

namespace tidemill {
namespace {

// The service is on the same host: what is not answered by then is not there.
constexpr std::chrono::seconds kMetadataTimeout{2};
constexpr WebTries kMetadataTries{.most = 2, .wait = std::chrono::milliseconds(100)};
// Longer than any value of a machine is.
constexpr std::size_t kValueBytes = 1 << 20;
constexpr std::int64_t kMetadataTokenTtlS = 21'600;
// A poll that waits for a change is answered after this, as its query asks.
constexpr std::chrono::seconds kLongTimeout{75};

Result<std::optional<MetadataValue>> ReadValue(const Result<HttpResponse>& got) {
  if (!got) return Fail(Code::kUnavailable, got.error().reason);
  if (got->status == 404) return std::optional<MetadataValue>();
  if (got->status == 200) {
    const std::string* etag = FindField(got->headers, "ETag");
    return std::optional(MetadataValue{got->body, etag == nullptr ? "" : *etag});
  }
  const Code code = got->status / 100 == 4 ? Code::kForbidden : Code::kUnavailable;
  return Fail(code, "it answers " + std::to_string(got->status));
}

class Ec2Metadata : public Metadata {
 public:
  Ec2Metadata(AsioLoop& loop, Origin origin, std::function<std::int64_t()> now_ms)
      : origin_(std::move(origin)),
        web_(loop, {.max_body_bytes = kValueBytes}),
        now_ms_(std::move(now_ms)),
        token_(loop, now_ms_, [this](auto done) { FetchToken(std::move(done)); }) {}

  void Get(const std::string& path, Done done) override { Ask(path, true, std::move(done)); }

 private:
  using TokenDone = std::function<void(Result<Lasting<std::string>>)>;

  // A token that was forgotten there is asked for again, once: a notice must not wait for it.
  void Ask(const std::string& path, bool again, Done done) {
    token_.Get([this, path, again, done = std::move(done)](const Result<std::string>& token) {
      if (!token) return done(tl::unexpected<Error>(token.error()));
      HttpCall call{.target = "/latest/" + path, .timeout = kMetadataTimeout};
      call.headers.emplace_back("X-aws-ec2-metadata-token", *token);
      web_.Send(origin_, std::move(call), kMetadataTries,
                [this, path, again, done](const Result<HttpResponse>& got) {
                  const bool is_forgotten = got && got->status == 401;
                  if (is_forgotten) token_.Forget();
                  if (is_forgotten && again) return Ask(path, false, done);
                  auto value = ReadValue(got);
                  if (!value) return done(While(Place(), value.error()));
                  done(*std::move(value));
                });
    });
  }

  std::string Place() const { return "the instance metadata at http://" + Authority(origin_); }

  void FetchToken(TokenDone done) {
    HttpCall call{.method = "PUT", .target = "/latest/api/token", .timeout = kMetadataTimeout};
    call.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds",
                              std::to_string(kMetadataTokenTtlS));
    web_.Send(origin_, std::move(call), kMetadataTries,
              [this, done = std::move(done)](const Result<HttpResponse>& got) {
                const auto value = ReadValue(got);
                if (!value) return done(While(Place(), value.error()));
                const std::string token(*value ? Trim((*value)->text) : "");
                if (token.empty() || !IsSafeField("token", token)) {
                  return done(Fail(Code::kUnavailable, Place() + ": its token is malformed"));
                }
                done(Lasting<std::string>{token, now_ms_() + kMetadataTokenTtlS * 1000});
              });
  }

  const Origin origin_;
  Web web_;
  const std::function<std::int64_t()> now_ms_;
  Kept<std::string> token_;
};

class GceMetadata : public Metadata {
 public:
  GceMetadata(AsioLoop& loop, Origin origin)
      : origin_(std::move(origin)), web_(loop, {.max_body_bytes = kValueBytes}) {}

  void Get(const std::string& path, Done done) override {
    const bool waits = path.find("wait_for_change=true") != path.npos;
    HttpCall call{.target = "/computeMetadata/v1/" + path,
                  .timeout = waits ? kLongTimeout : kMetadataTimeout};
    call.headers.emplace_back("Metadata-Flavor", "Google");
    web_.Send(origin_, std::move(call), kMetadataTries,
              [this, done = std::move(done)](const Result<HttpResponse>& got) {
                const std::string place = "the metadata server at " + Authority(origin_);
                auto value = ReadValue(got);
                if (!value) return done(While(place, value.error()));
                // Who answers without it is something else that has the address.
                const std::string* flavor = FindField(got->headers, "Metadata-Flavor");
                if (flavor == nullptr || *flavor != "Google") {
                  return done(Fail(Code::kUnavailable, place + ": it is not Google's"));
                }
                done(*std::move(value));
              });
  }

 private:
  const Origin origin_;
  Web web_;
};

}  // namespace

Result<std::unique_ptr<Metadata>> OpenEc2Metadata(AsioLoop& loop, const CloudWorld& world) {
  TIDEMILL_TRY(std::optional<Origin> origin, MetadataOrigin(world));
  if (!origin) return Fail(Code::kInvalid, "AWS_EC2_METADATA_DISABLED says that there is none");
  return std::unique_ptr<Metadata>(
      std::make_unique<Ec2Metadata>(loop, *std::move(origin), world.now_ms));
}

Result<std::unique_ptr<Metadata>> OpenGceMetadata(AsioLoop& loop, const CloudWorld& world) {
  TIDEMILL_TRY(Origin origin, GoogleMetadataOrigin(world));
  return std::unique_ptr<Metadata>(std::make_unique<GceMetadata>(loop, std::move(origin)));
}

Result<std::unique_ptr<Metadata>> OpenMetadata(const std::string& cloud, AsioLoop& loop,
                                               const CloudWorld& world) {
  if (cloud == "aws") return OpenEc2Metadata(loop, world);
  if (cloud == "gcp") return OpenGceMetadata(loop, world);
  return Fail(Code::kInvalid, "there is no cloud '" + cloud + "'; there are aws and gcp");
}

}  // namespace tidemill
