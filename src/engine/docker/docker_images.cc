// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_images.h"

#include <chrono>
#include <utility>

#include "engine/docker/image_name.h"
#include "net/http.h"

namespace tidemill {
namespace {

constexpr std::chrono::minutes kPullWithin{30};
// The Engine tells of progress several times a second; unpacking a large layer is silent for long.
constexpr std::chrono::minutes kSilenceMost{5};
constexpr std::size_t kLineBytes = 64 * 1024;     // the rest of a longer one is dropped
constexpr std::size_t kProgressBytes = 1u << 30;  // nothing of it is kept

}  // namespace

DockerImages::DockerImages(AsioLoop& loop, DockerApi& api) : loop_(loop), api_(api) {}

DockerImages::~DockerImages() {
  for (const auto& [image, pull] : pulls_) loop_.Cancel(pull.stall);
}

void DockerImages::Get(const std::string& image, Done done) {
  const auto name = ParseImageName(image);
  if (!name) {
    loop_.After(Duration::zero(),
                [done = std::move(done), error = name.error()] { done(tl::unexpected(error)); });
    return;
  }
  api_.FindImage(image, [this, image, name = *name, done = std::move(done)](auto found) {
    if (found || found.error().code != Code::kNotFound) return done(std::move(found));
    Pull& pull = pulls_[image];
    pull.waiting.push_back(done);
    if (!pull.client) Begin(image, name, pull);
  });
}

void DockerImages::Begin(const std::string& image, const ImageName& name, Pull& pull) {
  pull.client = std::make_unique<HttpClient>(
      loop_, api_.origin(),
      HttpClientOptions{.max_connections = 1, .max_body_bytes = kProgressBytes});
  ArmStall(image);
  pull.client->Send(
      {.method = "POST",
       .target = api_.prefix() + "/images/create?fromImage=" + PercentEncode(name.repository) +
                 "&tag=" + PercentEncode(name.tag),
       .timeout = kPullWithin,
       .on_piece = [this, image](std::string_view piece) { OnPiece(image, piece); }},
      [this, image](Result<HttpResponse> answer) { OnPulled(image, std::move(answer)); });
}

void DockerImages::ArmStall(const std::string& image) {
  Pull& pull = pulls_.at(image);
  loop_.Cancel(pull.stall);
  pull.stall = loop_.After(kSilenceMost, [this, image] {
    OnPulled(image, Fail(Code::kUnknown, "no progress for a long time"));
  });
}

void DockerImages::OnPiece(const std::string& image, std::string_view piece) {
  ArmStall(image);
  Pull& pull = pulls_.at(image);
  for (const char c : piece) {
    if (c != '\n') {
      if (pull.line.size() < kLineBytes) pull.line.push_back(c);
      continue;
    }
    if (const auto error = DockerPullError(pull.line)) pull.error = *error;
    pull.line.clear();
  }
}

void DockerImages::OnPulled(const std::string& image, Result<HttpResponse> answer) {
  Pull& pull = pulls_.at(image);
  loop_.Cancel(pull.stall);
  if (const auto error = DockerPullError(pull.line)) pull.error = *error;
  if (!answer) {
    return Finish(image, While("pull '" + image + "'", api_.Unreachable(answer.error()).value()));
  }
  if (answer->status != 200) pull.error = DockerMessage(answer->body);
  if (!pull.error.empty()) return Finish(image, tl::unexpected(PullError(image, pull.error)));
  // The pull stays in the map meanwhile, so that no second one begins.
  api_.FindImage(image, [this, image](Result<DockerImage> found) {
    if (!found && found.error().code == Code::kNotFound) found.error().code = Code::kUnavailable;
    Finish(image, found);
  });
}

// Last thing to do in any function: a `done` may destroy this object.
void DockerImages::Finish(const std::string& image, const Result<DockerImage>& result) {
  const auto pull = pulls_.extract(image);
  for (const Done& done : pull.mapped().waiting) done(result);
}

}  // namespace tidemill
