// SPDX-License-Identifier: Apache-2.0
#include "provider/proof/cloud_proofs.h"

#include <utility>

#include "provider/proof/aws_document.h"

namespace tidemill {
namespace {

// Google turns its keys over in days, and shows a new one long before it signs with it.
constexpr std::int64_t kKeysLastMs = 60 * 60 * 1000;

}  // namespace

CloudProofs::CloudProofs(AsioLoop& loop, CloudWorld world, CloudProofOptions options)
    : loop_(loop),
      world_(std::move(world)),
      options_(std::move(options)),
      web_(loop, {.tls = world_.tls}),
      keys_(loop, world_.now_ms, [this](auto done) { FetchKeys(std::move(done)); }) {}

void CloudProofs::FetchKeys(std::function<void(Result<Lasting<GoogleKeys>>)> done) {
  HttpCall call;
  call.target = options_.google_keys.target;
  web_.Send(options_.google_keys.origin, std::move(call), {},
            [this, done = std::move(done)](const Result<HttpResponse>& got) {
              if (!got || got->status != 200) {
                return done(Fail(Code::kUnavailable, "Google's keys cannot be read"));
              }
              auto keys = ParseGoogleKeys(got->body);
              if (!keys) return done(tl::unexpected(keys.error()));
              done(Lasting<GoogleKeys>{*std::move(keys), world_.now_ms() + kKeysLastMs});
            });
}

void CloudProofs::Check(MachineProof proof, std::function<void(Result<ProvenMachine>)> done) {
  if (proof.provider == "gcp" && !options_.audiences.empty()) {
    return keys_.Get(
        [this, proof = std::move(proof), done = std::move(done)](const Result<GoogleKeys>& keys) {
          if (!keys) return done(tl::unexpected(keys.error()));
          done(CheckGoogleIdentity(proof.document, *keys, options_.audiences, world_.now_ms()));
        });
  }
  const bool is_aws = proof.provider == "aws" && !options_.aws_certificates.empty();
  Result<ProvenMachine> answer =
      is_aws ? CheckAwsDocument(proof, options_.aws_certificates)
             : Fail(Code::kNobody, "this server believes no proof of '" + proof.provider + "'");
  loop_.After(Duration::zero(), [alive = std::weak_ptr<char>(alive_), done = std::move(done),
                                 answer = std::move(answer)] {
    if (!alive.expired()) done(answer);
  });
}

}  // namespace tidemill
