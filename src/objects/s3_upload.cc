// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "cloud/xml.h"
#include "objects/s3_store_impl.h"

namespace tidemill {
namespace {

constexpr std::int64_t kPartsMost = 10'000;        // S3's own limit
constexpr std::int64_t kPartBytesLeast = 8 << 20;  // over S3's 5 MiB
constexpr std::int64_t kPartBytesMost = 64 << 20;  // some are in memory at once
constexpr int kAtOnce = 4;

class Upload : public std::enable_shared_from_this<Upload> {
 public:
  Upload(S3Store::Impl& store, std::string key, ObjectBody body, PutOptions options,
         ObjectStore::Done<void> done)
      : store_(store),
        key_(std::move(key)),
        body_(std::move(body)),
        options_(std::move(options)),
        done_(std::move(done)),
        part_bytes_(std::max(kPartBytesLeast, (body_.size_bytes + kPartsMost - 1) / kPartsMost)),
        tags_(static_cast<std::size_t>((body_.size_bytes + part_bytes_ - 1) / part_bytes_)) {}

  bool fits() const { return part_bytes_ <= kPartBytesMost; }

  void Begin() {
    store_.Call({.method = "POST",
                 .key = key_,
                 .query = {{"uploads", ""}},
                 .headers = PutHeaders(options_)},
                [self = shared_from_this()](const Result<HttpResponse>& got) {
                  auto id = got ? ParseUploadId(got->body)
                                : Result<std::string>(tl::unexpected<Error>(got.error()));
                  if (!id) return self->done_(tl::unexpected<Error>(id.error()));
                  self->id_ = *std::move(id);
                  self->SendMore();
                });
  }

 private:
  void SendMore() {
    while (under_way_ < kAtOnce && next_ < tags_.size() && !error_) Send(next_++);
    if (under_way_ > 0) return;
    error_ ? GiveUp() : Complete();
  }

  void Send(std::size_t index) {
    ++under_way_;
    const std::int64_t offset = static_cast<std::int64_t>(index) * part_bytes_;
    const auto size = static_cast<std::size_t>(std::min(part_bytes_, body_.size_bytes - offset));
    store_.Call({.method = "PUT",
                 .key = key_,
                 .query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", id_}},
                 .body = [self = shared_from_this(), offset,
                          size] { return self->body_.read(offset, size); }},
                [self = shared_from_this(), index](const Result<HttpResponse>& got) {
                  --self->under_way_;
                  const auto* const tag = got ? FindField(got->headers, "ETag") : nullptr;
                  if (!got) {
                    self->error_ = got.error();
                  } else if (tag == nullptr) {
                    self->error_ = Error{Code::kInvalid, "the store gave no ETag for a part"};
                  } else {
                    self->tags_[index] = *tag;
                  }
                  self->SendMore();
                });
  }

  void Complete() {
    S3Ask ask{.method = "POST", .key = key_, .query = {{"uploadId", id_}}};
    ask.headers = {{"Content-Type", "application/xml"}};
    AppendConditions(options_, ask.headers);
    ask.body = [self = shared_from_this()]() -> Result<std::string> {
      return FormatComplete(self->tags_);
    };
    store_.Call(std::move(ask), [self = shared_from_this()](const Result<HttpResponse>& got) {
      self->OnCompleted(got);
    });
  }

  void OnCompleted(const Result<HttpResponse>& got) {
    if (!got) {
      error_ = got.error();
      // The answer to an earlier try was lost: it may be there.
      if (error_->code == Code::kNotFound) {
        error_->code = options_.if_tag.empty() ? Code::kUnknown : Code::kConflict;
      }
      return GiveUp();
    }
    // It begins to answer before it is done, so an error may come with 200.
    const auto root = ParseXml(got->body);
    if (root && root->name != "Error") return done_({});
    error_ = Error{Code::kUnknown, ParseAwsXmlError(got->body).Text()};
    GiveUp();
  }

  void GiveUp() {
    store_.Call({.method = "DELETE", .key = key_, .query = {{"uploadId", id_}}},
                [self = shared_from_this()](const Result<HttpResponse>&) {
                  self->done_(tl::unexpected<Error>(*self->error_));
                });
  }

  S3Store::Impl& store_;
  const std::string key_;
  const ObjectBody body_;
  const PutOptions options_;
  const ObjectStore::Done<void> done_;
  const std::int64_t part_bytes_;
  std::vector<std::string> tags_;
  std::string id_;
  std::size_t next_ = 0;
  int under_way_ = 0;
  std::optional<Error> error_;
};

}  // namespace

void UploadParts(S3Store::Impl& store, const std::string& key, ObjectBody body, PutOptions options,
                 ObjectStore::Done<void> done) {
  auto upload = std::make_shared<Upload>(store, key, std::move(body), std::move(options), done);
  if (upload->fits()) return upload->Begin();
  store.Soon([done = std::move(done)] {
    done(Fail(Code::kInvalid, "an object can have 625 GiB at most"));
  });
}

}  // namespace tidemill
