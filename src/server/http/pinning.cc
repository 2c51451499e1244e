// SPDX-License-Identifier: Apache-2.0
#include "server/http/pinning.h"

#include <utility>

#include "base/limits.h"
#include "server/http/answer.h"
#include "server/http/secrets.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

void AskRegistry(ApiState& state, const ImageName& name, std::optional<RegistryLogin> login,
                 std::function<void(Pinning)> done) {
  state.options.find_digest(name, std::move(login),
                            [done = std::move(done)](Result<std::string> digest) {
                              if (digest) return done({.digest = *std::move(digest)});
                              done({.note = NoteOf(digest.error())});
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
  if (IsImageDigest(name->tag)) return {.digest = name->tag};
  // A digest of another kind, which is no tag either.
  if (spec->run.image.find('@') != std::string::npos) return {};
  return {.name = *std::move(name), .login = spec->run.image_login};
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
                 const std::string& document, std::function<void(Pinning)> done) {
  ImageQuestion question = QuestionOf(document);
  if (!question.name || !state.options.find_digest) return done({.digest = question.digest});
  if (question.login.empty()) {
    return AskRegistry(state, *question.name, std::nullopt, std::move(done));
  }
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
      [&state, name = *question.name, done = std::move(done)](Result<RegistryLogin> login) {
        if (login) return AskRegistry(state, name, *std::move(login), done);
        done({.note = ForStrangers(login.error()).reason});
      });
}

}  // namespace tidemill
