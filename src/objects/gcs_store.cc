// SPDX-License-Identifier: Apache-2.0
#include "objects/gcs_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/digest.h"
#include "objects/download.h"
#include "objects/patient.h"
#include "objects/s3_call.h"
#include "wire/cloud_json.h"
#include "wire/gcs_json.h"

namespace tidemill {
namespace {

constexpr char kEndpoint[] = "https://storage.googleapis.com";
constexpr std::int64_t kMaxGcsWholeBytes = 16 << 20;
constexpr std::int64_t kPartBytes = 8 << 20;  // a multiple of 256 KiB, as Google wants it

std::chrono::milliseconds GcsTimeout(std::int64_t bytes) {
  return std::chrono::seconds(30) + std::chrono::seconds(bytes / (256 << 10));
}

Judgement JudgeGcs(const HttpResponse& answer) {
  using What = Judgement::What;
  const int status = answer.status;
  // 308: a part is stored, and more is to come.
  if ((status >= 200 && status < 300) || status == 308) return {};
  const std::string reason =
      "the store answers " + std::to_string(status) + ", " + GoogleMessage(answer.body);
  const bool is_busy = answer.body.find("rateLimitExceeded") != std::string::npos;
  if (status == 408 || status == 429 || status >= 500 || is_busy) {
    return {What::kAgain, {Code::kUnavailable, reason}};
  }
  Code code = Code::kInvalid;
  if (status == 401) code = Code::kNobody;
  if (status == 403) code = Code::kForbidden;
  if (status == 404 || status == 410) code = Code::kNotFound;
  if (status == 412) code = Code::kConflict;
  return {What::kFail, {code, reason}};
}

ObjectInfo InfoOf(GcsObject object) {
  return {.key = std::move(object.name),
          .size_bytes = object.size_bytes,
          .tag = std::move(object.generation),
          .marks = std::move(object.metadata)};
}

struct GcsAsk {
  std::string method = "GET";
  std::string target = {};
  HttpFields headers = {};
  std::string content_type = {};
  std::function<Result<std::string>()> body = {};  // null: none
};

// Of the answer to a part: where the next one begins. "bytes=0-9" says that ten are stored.
std::int64_t StoredOf(const HttpResponse& answer) {
  const std::string* range = FindField(answer.headers, "Range");
  if (range == nullptr) return 0;
  const std::size_t dash = range->rfind('-');
  std::int64_t last = -1;
  if (dash != std::string::npos) {
    std::from_chars(range->data() + dash + 1, range->data() + range->size(), last);
  }
  return last + 1;
}

}  // namespace

struct GcsStore::Impl {
  Impl(const GcsShared& shared, std::string a_bucket, Origin an_origin, bool has_tokens)
      : loop(shared.loop),
        random(shared.random),
        tokens(has_tokens ? &shared.tokens : nullptr),
        bucket(std::move(a_bucket)),
        origin(std::move(an_origin)),
        patient(shared.loop, {.max_connections = 32, .max_queued = 10'000, .tls = shared.world.tls},
                shared.random) {}

  void Call(const std::string& key, GcsAsk ask, Done<HttpResponse> done);
  void Prepare(const GcsAsk& ask, const std::function<void(Result<Patient::Prepared>)>& done);
  void FetchPart(const std::string& key, const Download::Ask& ask, Done<ObjectPart> done);
  void Head(const std::string& key, Done<ObjectInfo> done);
  void PutWhole(const std::string& key, ObjectBody body, const PutOptions& options,
                Done<void> done);

  struct Putting {
    std::string key;
    ObjectBody body;
    Done<void> done;
    std::string target;  // of the session
    std::int64_t offset = 0;
  };
  void PutParts(const std::string& key, ObjectBody body, const PutOptions& options,
                Done<void> done);
  void PutNext(const std::shared_ptr<Putting>& put);
  void OnPart(const std::shared_ptr<Putting>& put, std::int64_t end, const HttpResponse& answer);

  void Soon(std::function<void()> call) {
    loop.After(Duration::zero(), [gone = std::weak_ptr<char>(alive), call = std::move(call)] {
      if (!gone.expired()) call();
    });
  }
  std::string ObjectsPath() const { return "/storage/v1/b/" + PercentEncode(bucket) + "/o"; }
  std::string PathOf(const std::string& key) const {
    return ObjectsPath() + "/" + PercentEncode(key);
  }
  std::string UploadPath(const std::string& type, const PutOptions& options) const {
    return "/upload" + ObjectsPath() + "?uploadType=" + type +
           (options.if_absent        ? "&ifGenerationMatch=0"
            : options.if_tag.empty() ? ""
                                     : "&ifGenerationMatch=" + PercentEncode(options.if_tag));
  }

  AsioLoop& loop;
  Random& random;
  GoogleTokens* const tokens;  // null: none are asked for
  const std::string bucket;
  const Origin origin;
  Patient patient;
  const std::shared_ptr<char> alive = std::make_shared<char>();
};

void GcsStore::Impl::Prepare(const GcsAsk& ask,
                             const std::function<void(Result<Patient::Prepared>)>& done) {
  const auto with_token = [this, ask, done](const Result<std::string>& token) {
    if (!token) return done(tl::unexpected<Error>(token.error()));
    Patient::Prepared made{.origin = origin};
    made.call.method = ask.method;
    made.call.target = ask.target;
    made.call.headers = ask.headers;
    made.call.content_type = ask.content_type;
    if (!token->empty()) made.call.headers.emplace_back("Authorization", "Bearer " + *token);
    if (ask.body) {
      auto body = ask.body();
      if (!body) return done(tl::unexpected<Error>(body.error()));
      made.call.body = *std::move(body);
    }
    made.call.timeout =
        GcsTimeout(static_cast<std::int64_t>(made.call.body.size()) + Download::kPartBytes);
    done(std::move(made));
  };
  if (tokens == nullptr) return with_token(std::string());
  tokens->Get([gone = std::weak_ptr<char>(alive), with_token](const Result<std::string>& token) {
    if (!gone.expired()) with_token(token);
  });
}

void GcsStore::Impl::Call(const std::string& key, GcsAsk ask, Done<HttpResponse> done) {
  const auto shared = std::make_shared<const GcsAsk>(std::move(ask));
  patient.Run([this, shared](const auto& made) { Prepare(*shared, made); }, JudgeGcs,
              [what = "gs://" + bucket + (key.empty() ? "" : "/" + key),
               done = std::move(done)](Result<HttpResponse> got) {
                if (!got) return done(While(what, got.error()));
                done(std::move(got));
              });
}

void GcsStore::Impl::Head(const std::string& key, Done<ObjectInfo> done) {
  Call(key, {.target = PathOf(key)}, [done = std::move(done)](const Result<HttpResponse>& got) {
    if (!got) return done(tl::unexpected<Error>(got.error()));
    auto object = ParseGcsObject(got->body);
    if (!object) return done(tl::unexpected<Error>(object.error()));
    done(InfoOf(*std::move(object)));
  });
}

void GcsStore::Impl::FetchPart(const std::string& key, const Download::Ask& ask,
                               Done<ObjectPart> done) {
  // Otherwise what was stored compressed would come without its compression, and no range of it.
  GcsAsk call{
      .target = PathOf(key) + "?alt=media",
      .headers = {{"Range", RangeField(ask.offset, ask.size)}, {"Accept-Encoding", "gzip"}}};
  if (!ask.tag.empty()) call.target += "&ifGenerationMatch=" + PercentEncode(ask.tag);
  Call(key, std::move(call),
       [this, key, offset = ask.offset, done = std::move(done)](Result<HttpResponse> got) {
         if (got) {
           auto info = tidemill::InfoOf(key, *got, "x-goog-meta-");
           if (!info) return done(tl::unexpected<Error>(info.error()));
           const auto* const generation = FindField(got->headers, "x-goog-generation");
           info->tag = generation == nullptr ? "" : *generation;
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

void GcsStore::Impl::PutWhole(const std::string& key, ObjectBody body, const PutOptions& options,
                              Done<void> done) {
  // Random, so that no body has it.
  const std::string boundary = Hex(Sha256(std::to_string(random.Next()) + key)).substr(0, 48);
  const std::string head = "--" + boundary +
                           "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" +
                           FormatGcsObject({key, options.content_type, options.marks}) + "\r\n--" +
                           boundary + "\r\nContent-Type: " + options.content_type + "\r\n\r\n";
  GcsAsk ask{.method = "POST",
             .target = UploadPath("multipart", options),
             .content_type = "multipart/related; boundary=" + boundary};
  ask.body = [body = std::move(body), head, boundary]() -> Result<std::string> {
    TIDEMILL_TRY(const std::string bytes, body.read(0, static_cast<std::size_t>(body.size_bytes)));
    return head + bytes + "\r\n--" + boundary + "--\r\n";
  };
  Call(key, std::move(ask), [done = std::move(done)](const Result<HttpResponse>& got) {
    if (!got) return done(tl::unexpected<Error>(got.error()));
    done({});
  });
}

void GcsStore::Impl::PutParts(const std::string& key, ObjectBody body, const PutOptions& options,
                              Done<void> done) {
  const auto put = std::make_shared<Putting>(Putting{key, std::move(body), std::move(done), {}});
  GcsAsk ask{.method = "POST",
             .target = UploadPath("resumable", options),
             .content_type = "application/json; charset=UTF-8"};
  ask.body = [text = FormatGcsObject({key, options.content_type,
                                      options.marks})]() -> Result<std::string> { return text; };
  Call(key, std::move(ask), [this, put](const Result<HttpResponse>& got) {
    if (!got) return put->done(tl::unexpected<Error>(got.error()));
    const auto* const location = FindField(got->headers, "Location");
    const auto url = location == nullptr ? Fail(Code::kInvalid, "none") : ParseWebUrl(*location);
    // It must not send us, and our token, to anybody else.
    if (!url || Authority(url->origin) != Authority(origin) || url->origin.tls != origin.tls) {
      return put->done(Fail(Code::kInvalid, "the store names no place of its own for the parts"));
    }
    put->target = url->target;
    PutNext(put);
  });
}

void GcsStore::Impl::PutNext(const std::shared_ptr<Putting>& put) {
  const std::int64_t size = std::min(kPartBytes, put->body.size_bytes - put->offset);
  const std::int64_t end = put->offset + size;
  GcsAsk ask{.method = "PUT", .target = put->target};
  ask.headers.emplace_back("Content-Range", "bytes " + std::to_string(put->offset) + "-" +
                                                std::to_string(end - 1) + "/" +
                                                std::to_string(put->body.size_bytes));
  ask.body = [put, offset = put->offset, size] {
    return put->body.read(offset, static_cast<std::size_t>(size));
  };
  Call(put->key, std::move(ask), [this, put, end](const Result<HttpResponse>& got) {
    if (!got) return put->done(tl::unexpected<Error>(got.error()));
    OnPart(put, end, *got);
  });
}

void GcsStore::Impl::OnPart(const std::shared_ptr<Putting>& put, std::int64_t end,
                            const HttpResponse& answer) {
  if (answer.status != 308) {
    if (end == put->body.size_bytes) return put->done({});
    return put->done(Fail(Code::kUnknown, "the store took a part for the whole"));
  }
  const std::int64_t stored = StoredOf(answer);
  // It may keep less than it was sent, but must get on.
  if (stored <= put->offset || stored > end || stored == put->body.size_bytes) {
    return put->done(Fail(Code::kUnknown, "the store does not go on with the upload"));
  }
  put->offset = stored;
  PutNext(put);
}

GcsStore::GcsStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GcsStore::~GcsStore() = default;

Result<std::unique_ptr<GcsStore>> GcsStore::Open(const GcsShared& shared,
                                                 const GcsOptions& options) {
  const std::string emulator = shared.world.Variable("STORAGE_EMULATOR_HOST");
  const bool is_played = options.endpoint.empty() && !emulator.empty();
  std::string url = options.endpoint.empty() ? kEndpoint : options.endpoint;
  if (is_played) url = emulator.find("://") == emulator.npos ? "http://" + emulator : emulator;
  auto origin = ParseUrl(url);
  if (!origin) return While("the endpoint of Google's store", origin.error());
  if (!is_played && !origin->tls && !IsNear(origin->host)) {
    return Fail(Code::kInvalid, "the endpoint of Google's store must be https://");
  }
  return std::unique_ptr<GcsStore>(
      new GcsStore(std::make_unique<Impl>(shared, options.bucket, *std::move(origin), !is_played)));
}

void GcsStore::Head(const std::string& key, Done<ObjectInfo> done) {
  if (auto checked = CheckKey(key); !checked) {
    return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  }
  impl_->Head(key, std::move(done));
}

void GcsStore::Get(const std::string& key, ObjectRange range, OnPiece on_piece,
                   Done<ObjectInfo> done) {
  const auto checked = CheckGet(key, range);
  if (!checked) return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  Download::Start(
      range,
      [this, key](const Download::Ask& ask, Done<ObjectPart> part) {
        impl_->FetchPart(key, ask, std::move(part));
      },
      std::move(on_piece), std::move(done));
}

void GcsStore::Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) {
  const auto checked = CheckPut(key, options);
  if (!checked) return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  if (body.size_bytes > kMaxGcsWholeBytes) {
    return impl_->PutParts(key, std::move(body), options, std::move(done));
  }
  impl_->PutWhole(key, std::move(body), options, std::move(done));
}

void GcsStore::List(ListOptions options, Done<ListPage> done) {
  std::string target = impl_->ObjectsPath() + "?maxResults=" + std::to_string(options.most);
  const auto add = [&target](const char* name, const std::string& value) {
    if (!value.empty()) target.append("&").append(name).append("=").append(PercentEncode(value));
  };
  add("prefix", options.prefix);
  add("delimiter", options.delimiter);
  add("startOffset", options.after);
  add("pageToken", options.next);
  impl_->Call(
      "", {.target = target},
      [done = std::move(done), after = std::move(options.after)](const Result<HttpResponse>& got) {
        if (!got) return done(tl::unexpected<Error>(got.error()));
        auto list = ParseGcsList(got->body);
        if (!list) return done(tl::unexpected<Error>(list.error()));
        ListPage page{.prefixes = std::move(list->prefixes), .next = std::move(list->next)};
        for (GcsObject& object : list->objects) {
          // Google begins with the key itself.
          if (object.name != after) page.objects.push_back(InfoOf(std::move(object)));
        }
        done(std::move(page));
      });
}

void GcsStore::Delete(const std::string& key, Done<void> done) {
  if (auto checked = CheckKey(key); !checked) {
    return impl_->Soon([=] { done(tl::unexpected<Error>(checked.error())); });
  }
  impl_->Call(key, {.method = "DELETE", .target = impl_->PathOf(key)},
              [done = std::move(done)](const Result<HttpResponse>& got) {
                if (!got && got.error().code != Code::kNotFound) {
                  return done(tl::unexpected<Error>(got.error()));
                }
                done({});
              });
}

}  // namespace tidemill
