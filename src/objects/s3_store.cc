// SPDX-License-Identifier: Apache-2.0
#include "objects/s3_store.h"

#include <utility>

#include "base/digest.h"
#include "objects/download.h"
#include "objects/s3_store_impl.h"

namespace tidemill {
namespace {

constexpr std::string_view kS3MarksPrefix = "x-amz-meta-";
constexpr std::int64_t kMaxS3WholeBytes = 16 << 20;
constexpr std::chrono::seconds kPresignMost{7 * 24 * 3600};

// A slow line has 256 KiB a second.
std::chrono::milliseconds S3Timeout(std::int64_t bytes) {
  return std::chrono::seconds(30) + std::chrono::seconds(bytes / (256 << 10));
}

HttpClientOptions ClientOptions(const CloudWorld& world) {
  return {.max_connections = 32, .max_queued = 10'000, .tls = world.tls};
}

}  // namespace

S3Store::Impl::Impl(const S3Shared& shared, S3Place a_place)
    : loop(shared.loop),
      credentials(shared.credentials),
      now_ms(shared.world.now_ms),
      place(std::move(a_place)),
      patient(shared.loop, ClientOptions(shared.world), shared.random) {}

void S3Store::Impl::Soon(std::function<void()> call) {
  loop.After(Duration::zero(), [gone = std::weak_ptr<char>(alive), call = std::move(call)] {
    if (!gone.expired()) call();
  });
}

void S3Store::Impl::Prepare(const S3Ask& ask, std::function<void(Result<Patient::Prepared>)> done) {
  credentials.Get([this, gone = std::weak_ptr<char>(alive), ask,
                   done = std::move(done)](const Result<AwsKeys>& keys) {
    if (gone.expired()) return;
    if (!keys) return done(tl::unexpected<Error>(keys.error()));
    Patient::Prepared made;
    if (ask.body) {
      auto body = ask.body();
      if (!body) return done(tl::unexpected<Error>(body.error()));
      made.call.body = *std::move(body);
    }
    const S3Target target = TargetOf(place, ask.key);
    made.origin = target.origin;
    // TLS keeps a body as it is; in clear text the signature must.
    AwsSigned signature =
        SignAws({.method = ask.method,
                 .host = Authority(target.origin),
                 .path = target.path,
                 .query = ask.query,
                 .headers = ask.headers,
                 .payload = target.origin.tls ? kUnsignedPayload : Hex(Sha256(made.call.body))},
                *keys, {.region = place.region, .service = "s3"}, now_ms());
    made.call.method = ask.method;
    made.call.target = std::move(signature.target);
    made.call.headers = std::move(signature.headers);
    made.call.timeout =
        S3Timeout(static_cast<std::int64_t>(made.call.body.size()) + Download::kPartBytes);
    done(std::move(made));
  });
}

void S3Store::Impl::Call(S3Ask ask, Done<HttpResponse> done) {
  const std::string what = "s3://" + place.bucket + (ask.key.empty() ? "" : "/" + ask.key);
  const auto judge = [this](const HttpResponse& answer) -> Judgement {
    const auto region = RegionTold(answer);
    if (!region || *region == place.region) return JudgeS3(answer);
    place.region = *region;
    return {Judgement::What::kElsewhere, {Code::kInvalid, "the bucket is in region " + *region}};
  };
  const auto shared = std::make_shared<const S3Ask>(std::move(ask));
  patient.Run([this, shared](auto made) { Prepare(*shared, std::move(made)); }, judge,
              [what, done = std::move(done)](Result<HttpResponse> got) {
                if (!got) return done(While(what, got.error()));
                done(std::move(got));
              });
}

void S3Store::Impl::Head(const std::string& key, Done<ObjectInfo> done) {
  Call({.method = "HEAD", .key = key},
       [key, done = std::move(done)](const Result<HttpResponse>& got) {
         if (!got) return done(tl::unexpected<Error>(got.error()));
         done(InfoOf(key, *got, kS3MarksPrefix));
       });
}

void S3Store::Impl::FetchPart(const std::string& key, std::int64_t offset, std::int64_t size,
                              const std::string& tag, Done<ObjectPart> done) {
  S3Ask ask{.key = key, .headers = {{"Range", RangeField(offset, size)}}};
  if (!tag.empty()) ask.headers.emplace_back("If-Match", tag);
  Call(std::move(ask), [this, key, offset, done = std::move(done)](Result<HttpResponse> got) {
    if (got) {
      auto info = InfoOf(key, *got, kS3MarksPrefix);
      if (!info) return done(tl::unexpected<Error>(info.error()));
      return done(ObjectPart{std::move(got->body), *std::move(info)});
    }
    // An empty object has no range at all.
    if (got.error().code != Code::kInvalid || offset != 0) {
      return done(tl::unexpected<Error>(got.error()));
    }
    Head(key, [done, error = got.error()](Result<ObjectInfo> info) {
      if (!info || info->size_bytes != 0) return done(tl::unexpected<Error>(error));
      done(ObjectPart{"", *std::move(info)});
    });
  });
}

S3Store::S3Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
S3Store::~S3Store() = default;

Result<std::unique_ptr<S3Store>> S3Store::Open(const S3Shared& shared, const S3Options& options) {
  TIDEMILL_TRY(const AwsProfile profile, LoadAwsProfile(shared.world));
  S3Place place{.bucket = options.bucket};
  std::string region = options.region.empty() ? AwsRegion(shared.world, profile) : options.region;
  if (!region.empty()) place.region = std::move(region);
  if (!IsAwsRegion(place.region)) {
    return Fail(Code::kInvalid, "'" + place.region + "' is not a region");
  }
  const std::string endpoint =
      options.endpoint.empty() ? AwsEndpoint(shared.world, profile, "S3") : options.endpoint;
  if (!endpoint.empty()) {
    auto origin = ParseUrl(endpoint);
    if (!origin) return While("the endpoint of S3", origin.error());
    place.endpoint = *std::move(origin);
  }
  return std::unique_ptr<S3Store>(new S3Store(std::make_unique<Impl>(shared, std::move(place))));
}

void S3Store::Head(const std::string& key, Done<ObjectInfo> done) {
  if (auto checked = CheckKey(key); !checked) {
    return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  }
  impl_->Head(key, std::move(done));
}

void S3Store::Get(const std::string& key, ObjectRange range, OnPiece on_piece,
                  Done<ObjectInfo> done) {
  const auto checked = CheckGet(key, range);
  if (!checked) return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  Download::Start(
      range,
      [this, key](const Download::Ask& ask, Done<ObjectPart> part) {
        impl_->FetchPart(key, ask.offset, ask.size, ask.tag, std::move(part));
      },
      std::move(on_piece), std::move(done));
}

void S3Store::Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) {
  const auto checked = CheckPut(key, options);
  if (!checked) return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  if (body.size_bytes > kMaxS3WholeBytes) {
    return UploadParts(*impl_, key, std::move(body), std::move(options), std::move(done));
  }
  S3Ask ask{.method = "PUT", .key = key, .headers = PutHeaders(options)};
  AppendConditions(options, ask.headers);
  ask.body = [body = std::move(body)] {
    return body.read(0, static_cast<std::size_t>(body.size_bytes));
  };
  impl_->Call(std::move(ask), [done = std::move(done),
                               is_swap = !options.if_tag.empty()](const Result<HttpResponse>& got) {
    if (got) return done({});
    Error error = got.error();
    if (is_swap && error.code == Code::kNotFound) error.code = Code::kConflict;
    done(tl::unexpected(std::move(error)));
  });
}

void S3Store::List(ListOptions options, Done<ListPage> done) {
  impl_->Call({.query = ListQuery(options)},
              [done = std::move(done)](const Result<HttpResponse>& got) {
                if (!got) return done(tl::unexpected<Error>(got.error()));
                done(ParseS3List(got->body));
              });
}

void S3Store::Delete(const std::string& key, Done<void> done) {
  if (auto checked = CheckKey(key); !checked) {
    return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  }
  impl_->Call({.method = "DELETE", .key = key},
              [done = std::move(done)](const Result<HttpResponse>& got) {
                if (!got && got.error().code != Code::kNotFound) {
                  return done(tl::unexpected<Error>(got.error()));
                }
                done({});
              });
}

void S3Store::Presign(Permission permission, Done<std::string> done) {
  auto checked = CheckKey(permission.key);
  if (checked && (permission.lasts.count() <= 0 || permission.lasts > kPresignMost)) {
    checked = Fail(Code::kInvalid, "a URL can last for seven days at most");
  }
  if (!checked) return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  impl_->credentials.Get([this, gone = std::weak_ptr<char>(impl_->alive), permission,
                          done = std::move(done)](const Result<AwsKeys>& keys) {
    if (gone.expired()) return;
    if (!keys) return done(tl::unexpected<Error>(keys.error()));
    const S3Target target = TargetOf(impl_->place, permission.key);
    const std::string host = Authority(target.origin);
    done((target.origin.tls ? "https://" : "http://") + host +
         PresignAws({.method = permission.method,
                     .host = host,
                     .path = target.path,
                     .payload = kUnsignedPayload},
                    *keys, {.region = impl_->place.region, .service = "s3"}, impl_->now_ms(),
                    permission.lasts));
  });
}

}  // namespace tidemill
