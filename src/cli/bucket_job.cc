// SPDX-License-Identifier: Apache-2.0
#include "cli/bucket_job.h"

#include <optional>
#include <utility>

#include "base/digest.h"
#include "cli/spec_file.h"
#include "cli/spec_source.h"
#include "wire/job_json.h"
#include "wire/submit_json.h"

namespace tidemill::cli {
namespace {

constexpr Patience kFirstCall{.busy = std::chrono::minutes(5), .away = {}};
constexpr std::size_t kKeyDigits = 32;

class BucketJob {
 public:
  BucketJob(const Context& context, const MakeStores& stores, const BucketJobFlags& flags,
            const std::string& url)
      : context_(context), stores_(stores), flags_(flags), url_(url) {}

  tl::expected<std::string, int> Find() {
    if (!flags_.into.empty()) return Into();
    if (const auto wrong = ReadSpec()) return tl::unexpected(*wrong);
    const std::string key = BucketJobKey(spec_.parsed.job.name, url_);
    const auto body =
        context_.client.Post("/v1/jobs", FormatNewJob(key, spec_.document, true), kFirstCall);
    if (!body) return NotMade(body.error());
    return Open(*body);
  }

 private:
  tl::unexpected<int> Told(const Error& error, const std::string& job = {}) const {
    return tl::unexpected(Explain(context_.console, context_.client, error, job));
  }

  tl::expected<std::string, int> Into() const {
    const auto body = context_.client.Get(JobTarget(flags_.into), kFirstCall);
    if (!body) return Told(body.error(), flags_.into);
    return Open(*body);
  }

  // A draft is sealed: it begins without items.
  tl::expected<std::string, int> Open(const std::string& body) const {
    const auto job = ParseJob(body);
    if (!job) return Told(job.error());
    const std::string id = PublicId(*job);
    if (job->state == JobState::kDraft && job->open && job->parts == 0) {
      const auto sealed = context_.client.Post(JobTarget(id, "/seal"), FormatSeal(0), kFirstCall);
      if (!sealed) return Told(sealed.error(), id);
      return id;
    }
    const bool takes_items =
        job->open && (job->state == JobState::kActive || job->state == JobState::kPaused);
    if (takes_items) return id;
    context_.console.ErrLine(id + " takes no more items: it is " +
                             (job->open ? std::string(JobStateName(job->state)) : "not open"));
    context_.console.ErrLine(flags_.into.empty()
                                 ? "Another name makes another job:  --name NAME"
                                 : "Name one that is open, or make one:  --job SPEC");
    return tl::unexpected(static_cast<int>(kFailed));
  }

  std::optional<int> ReadSpec() {
    const auto source = ReadSpecSource(context_, flags_.spec);
    if (!source) return source.error();
    auto spec =
        LoadSpec(source->yaml, source->name, {.name = flags_.name, .env = {}, .params = {}});
    if (!spec) {
      context_.console.ErrLine(spec.error().reason);
      return kWrongUse;
    }
    spec_ = *std::move(spec);
    return SendCodeOf(context_, stores_, flags_.spec, spec_);
  }

  tl::expected<std::string, int> NotMade(const Error& error) const {
    const auto told = Told(error);
    if (context_.client.reached() && error.code == Code::kConflict) {
      context_.console.ErrLine(
          "This bucket has a job of that name, with another spec. Go on with that one:  --into "
          "JOB\nOr close it, and make another:  --name NAME");
    }
    return told;
  }

  const Context& context_;
  const MakeStores& stores_;
  const BucketJobFlags& flags_;
  const std::string& url_;
  LoadedSpec spec_;
};

}  // namespace

tl::expected<std::string, int> FindBucketJob(const Context& context, const MakeStores& stores,
                                             const BucketJobFlags& flags, const std::string& url) {
  return BucketJob(context, stores, flags, url).Find();
}

std::string BucketJobKey(const std::string& name, const std::string& url) {
  return "watch-" + Hex(Sha256(name + "\n" + url)).substr(0, kKeyDigits);
}

}  // namespace tidemill::cli
