// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_images.h"

#include <chrono>
#include <utility>

#include "base/digest.h"
#include "base/wipe.h"
#include "engine/docker/image_words.h"
#include "net/http.h"

namespace tidemill {
namespace {

constexpr std::chrono::minutes kPullWithin{30};
// The Engine tells of progress several times a second; unpacking a large layer is silent for long.
constexpr std::chrono::minutes kSilenceMost{5};
constexpr std::size_t kLineBytes = 64 * 1024;     // the rest of a longer one is dropped
constexpr std::size_t kProgressBytes = 1u << 30;  // nothing of it is kept
// More jobs than a machine has in a day; then all have to prove themselves again.
constexpr std::size_t kProofsMost = 10'000;

}  // namespace

DockerImages::DockerImages(AsioLoop& loop, DockerApi& api, RegistryRole role)
    : loop_(loop), api_(api), role_(std::move(role)) {}

DockerImages::~DockerImages() {
  for (auto& [key, pull] : pulls_) {
    loop_.Cancel(pull.stall);
    if (pull.who.login) Wipe(pull.who.login->password);
  }
}

DockerImages::PullKey DockerImages::KeyOf(const Ask& ask) {
  if (!ask.login) return {ask.image, ""};
  return {ask.image, Sha256(ask.login->user + ":" + ask.login->password)};
}

void DockerImages::Get(Ask ask, Done done) {
  const auto name = ParseImageName(ask.image);
  if (!name) {
    loop_.After(Duration::zero(),
                [done = std::move(done), error = name.error()] { done(tl::unexpected(error)); });
    return;
  }
  const PullKey key = KeyOf(ask);
  if (ask.login && !proofs_.contains({ask.job, key})) {
    return Join(key, *name, ask, std::move(done));
  }
  api_.FindImage(ask.image, [this, key, name = *name, ask, done = std::move(done)](auto found) {
    if (found || found.error().code != Code::kNotFound) return done(std::move(found));
    Join(key, name, ask, done);
  });
}

void DockerImages::Join(const PullKey& key, const ImageName& name, const Ask& ask, Done done) {
  const auto [found, fresh] = pulls_.try_emplace(key);
  Pull& pull = found->second;
  pull.waiting.push_back({ask.job, std::move(done)});
  if (!fresh) return;
  pull.name = name;
  pull.who.login = ask.login;
  if (ask.login || !role_) return Begin(key);
  AskRole(key, RegistryPathOf(name).host);
}

// Without a login by the machine's role the image may still be anybody's.
void DockerImages::AskRole(const PullKey& key, const std::string& host) {
  role_(host, [this, key, alive = std::weak_ptr<char>(alive_)](auto login) {
    if (alive.expired()) return;
    PullWho& who = pulls_.at(key).who;
    if (!login) {
      who.no_role_for = login.error().reason;
    } else if (*login) {
      who = {.login = **std::move(login), .by_role = true};
    }
    Begin(key);
  });
}

void DockerImages::Begin(const PullKey& key) {
  Pull& pull = pulls_.at(key);
  pull.client = std::make_unique<HttpClient>(
      loop_, api_.origin(),
      HttpClientOptions{.max_connections = 1, .max_body_bytes = kProgressBytes});
  ArmStall(key);
  HttpCall call{.method = "POST",
                .target = api_.prefix() +
                          "/images/create?fromImage=" + PercentEncode(pull.name.repository) +
                          "&tag=" + PercentEncode(pull.name.tag),
                .timeout = kPullWithin,
                .on_piece = [this, key](std::string_view piece) { OnPiece(key, piece); }};
  if (pull.who.login) {
    call.headers.emplace_back("X-Registry-Auth", RegistryAuth(pull.name, *pull.who.login));
  }
  pull.client->Send(std::move(call),
                    [this, key](Result<HttpResponse> answer) { OnPulled(key, std::move(answer)); });
}

void DockerImages::ArmStall(const PullKey& key) {
  Pull& pull = pulls_.at(key);
  loop_.Cancel(pull.stall);
  pull.stall = loop_.After(kSilenceMost, [this, key] {
    OnPulled(key, Fail(Code::kUnknown, "no progress for a long time"));
  });
}

void DockerImages::OnPiece(const PullKey& key, std::string_view piece) {
  ArmStall(key);
  Pull& pull = pulls_.at(key);
  for (const char c : piece) {
    if (c != '\n') {
      if (pull.line.size() < kLineBytes) pull.line.push_back(c);
      continue;
    }
    OnLine(pull);
  }
}

void DockerImages::OnLine(Pull& pull) {
  if (const auto line = ParseDockerPullLine(pull.line)) {
    if (line->error) pull.error = *line->error;
    pull.progress.Add(*line);
  }
  pull.line.clear();
}

std::string DockerImages::PullState(const std::string& image) const {
  const auto found = pulls_.lower_bound({image, ""});
  if (found == pulls_.end() || found->first.image != image) return "";
  return found->second.progress.Text();
}

void DockerImages::OnPulled(const PullKey& key, Result<HttpResponse> answer) {
  Pull& pull = pulls_.at(key);
  loop_.Cancel(pull.stall);
  OnLine(pull);
  if (!answer) {
    return Finish(key, While("pull '" + key.image + "'", api_.Unreachable(answer.error()).value()));
  }
  if (answer->status != 200) pull.error = DockerMessage(answer->body);
  if (!pull.error.empty()) {
    return Finish(key, tl::unexpected(PullError(key.image, pull.error, pull.who)));
  }
  if (proofs_.size() >= kProofsMost) proofs_.clear();
  for (const Waiter& waiter : pull.waiting) {
    if (!key.login.empty()) proofs_.insert({waiter.job, key});
  }
  // The pull stays in the map meanwhile, so that no second one begins.
  api_.FindImage(key.image, [this, key](Result<DockerImage> found) {
    if (!found && found.error().code == Code::kNotFound) found.error().code = Code::kUnavailable;
    Finish(key, found);
  });
}

// Last thing to do in any function: a `done` may destroy this object.
void DockerImages::Finish(const PullKey& key, const Result<DockerImage>& result) {
  auto pull = pulls_.extract(key);
  PullWho& who = pull.mapped().who;
  if (who.login) Wipe(who.login->password);
  for (const Waiter& waiter : pull.mapped().waiting) waiter.done(result);
}

}  // namespace tidemill
