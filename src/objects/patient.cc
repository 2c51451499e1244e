// SPDX-License-Identifier: Apache-2.0
#include "objects/patient.h"

#include <algorithm>
#include <utility>

namespace tidemill {

struct Patient::Trying {
  Prepare prepare;
  Judge judge;
  Done done;
  int tries = 0;
  int elsewhere = 0;
};

Patient::Patient(AsioLoop& loop, HttpClientOptions options, Random& random)
    : loop_(loop), random_(random), web_(loop, std::move(options)) {}
Patient::~Patient() = default;

void Patient::Run(Prepare prepare, Judge judge, Done done) {
  auto trying =
      std::make_shared<Trying>(Trying{std::move(prepare), std::move(judge), std::move(done)});
  // Not from inside, whatever `prepare` does.
  loop_.After(Duration::zero(), [this, alive = std::weak_ptr<char>(alive_), trying] {
    if (!alive.expired()) Try(trying);
  });
}

void Patient::Try(const std::shared_ptr<Trying>& trying) {
  ++trying->tries;
  trying->prepare([this, alive = std::weak_ptr<char>(alive_), trying](Result<Prepared> made) {
    if (alive.expired()) return;
    if (!made) return trying->done(tl::unexpected<Error>(made.error()));
    web_.Send(made->origin, std::move(made->call), {.most = 1},
              [this, trying](Result<HttpResponse> got) { OnAnswer(trying, std::move(got)); });
  });
}

void Patient::OnAnswer(const std::shared_ptr<Trying>& trying, Result<HttpResponse> got) {
  if (!got) {
    const Code code = got.error().code;
    const bool may_pass = code == Code::kUnavailable || code == Code::kUnknown;
    if (may_pass) return Again(trying, got.error());
    return trying->done(std::move(got));
  }
  Judgement verdict = trying->judge(*got);
  switch (verdict.what) {
    case Judgement::What::kTake:
      budget_.OnSuccess();
      return trying->done(std::move(got));
    case Judgement::What::kAgain:
      return Again(trying, std::move(verdict.error));
    case Judgement::What::kElsewhere:
      if (++trying->elsewhere <= kElsewhereMost) return Try(trying);
      [[fallthrough]];
    case Judgement::What::kFail:
      return trying->done(tl::unexpected<Error>(std::move(verdict.error)));
  }
}

void Patient::Again(const std::shared_ptr<Trying>& trying, Error error) {
  if (trying->tries >= kTriesMost || !budget_.Take()) {
    error.reason += " (tried " + std::to_string(trying->tries) + " times)";
    return trying->done(tl::unexpected<Error>(std::move(error)));
  }
  const auto most = std::min(kWait * (1 << trying->tries), kWaitMost);
  const auto wait = random_.Below(static_cast<std::uint64_t>(most.count()) + 1);
  loop_.After(std::chrono::milliseconds(wait), [this, alive = std::weak_ptr<char>(alive_), trying] {
    if (!alive.expired()) Try(trying);
  });
}

}  // namespace tidemill
