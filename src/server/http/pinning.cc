// SPDX-License-Identifier: Apache-2.0
#include "server/http/pinning.h"

#include <utility>

#include "base/limits.h"
#include "model/image_needs.h"
#include "server/http/answer.h"
#include "server/secrets.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

// One question to a registry, or two.
struct Asking {
  ImageQuestion question;
  std::optional<RegistryLogin> login;
  bool config = false;  // what the image says of itself is wanted too
};

void AskConfig(ApiState& state, const Asking& asking, Pinning pinning,
               std::function<void(Pinning)> done) {
  if (!asking.config) return done(std::move(pinning));
  state.options.read_config(*asking.question.name, pinning.digest, asking.login,
                            [pinning, done = std::move(done)](Result<ImageConfig> config) mutable {
                              // A machine that has not what the image needs is found out later, by
                              // its first item.
                              if (config) pinning.config = *std::move(config);
                              done(std::move(pinning));
                            });
}

void AskRegistry(ApiState& state, const Asking& asking, std::function<void(Pinning)> done) {
  if (!asking.question.digest.empty()) {
    return AskConfig(state, asking, {.digest = asking.question.digest}, std::move(done));
  }
  state.options.find_digest(*asking.question.name, asking.login,
                            [&state, asking, done = std::move(done)](Result<std::string> digest) {
                              if (!digest) return done({.note = NoteOf(digest.error())});
                              AskConfig(state, asking, {.digest = *std::move(digest)}, done);
                            });
}

Result<RegistryLogin> FindLogin(AccessStore& access, const KeyRing* keys,
                                const std::string& project, const std::string& secret) {
  if (keys == nullptr) return NoSecretKeys();
  TIDEMILL_TRY(const Secrets opened, OpenSecrets(access, *keys, project, {secret}));
  return ParseRegistryLogin(opened.at(secret));
}

}  // namespace

ImageQuestion QuestionOf(const std::string& document) {
  const auto spec = ParseSpec(document);
  if (!spec || spec->run.image.empty()) return {};
  auto name = ParseImageName(spec->run.image);
  if (!name) return {};
  std::string digest = IsImageDigest(name->tag) ? name->tag : "";
  // A digest of another kind, which is no tag either.
  if (digest.empty() && spec->run.image.find('@') != std::string::npos) return {};
  return {std::move(digest), *std::move(name), spec->run.image_login};
}

std::string NoteOf(const Error& error) {
  switch (error.code) {
    case Code::kForbidden:
      return "";
    case Code::kNotFound:
      return error.reason + ", as far as it tells this server";
    case Code::kNobody:
      return error.reason + "; image_login names the secret that holds one";
    default:
      return error.reason + "; the first machine that pulls it says which one it is";
  }
}

void FindPinning(ApiState& state, const std::shared_ptr<HttpPeer>& peer, const std::string& project,
                 const JobSpec& spec, std::function<void(Pinning)> done) {
  Asking asking{.question = QuestionOf(spec.document), .login = {}};
  const ImageQuestion& question = asking.question;
  asking.config = state.options.read_config && AsksItsImage(spec.resources.devices);
  const bool knows = !question.digest.empty() && !asking.config;
  if (!question.name || knows || !state.options.find_digest) {
    return done({.digest = question.digest});
  }
  if (question.login.empty()) return AskRegistry(state, asking, std::move(done));
  state.people.Pass<RegistryLogin>(
      peer,
      [&state, project, secret = question.login](Reply<RegistryLogin> reply) {
        OnAccess(
            state.server.deps(),
            [keys = state.options.keys, project, secret](AccessStore& access) {
              return FindLogin(access, keys.get(), project, secret);
            },
            [reply = std::move(reply)](Result<RegistryLogin> login) { reply(std::move(login)); });
      },
      [&state, asking, done = std::move(done)](Result<RegistryLogin> login) mutable {
        if (!login) {
          return done(
              {.digest = asking.question.digest, .note = ForStrangers(login.error()).reason});
        }
        asking.login = *std::move(login);
        AskRegistry(state, asking, done);
      });
}

}  // namespace tidemill
