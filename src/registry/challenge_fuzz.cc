// SPDX-License-Identifier: Apache-2.0
// No WWW-Authenticate field breaks its reader. A challenge that was read is within its limits and
// is read again from its canonical form; its token is fetched by https:// or from this machine.
// sources: registry/challenge.cc net/http.cc base/result.cc base/check.cc
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "registry/challenge.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

bool IsText(const std::string& text) {
  return text.size() <= 1'024 &&
         std::none_of(text.begin(), text.end(), [](char c) { return c < ' ' || c == 127; });
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void FuzzChallenge(std::string_view field) {
  const auto challenge = ParseChallenge(field);
  if (!challenge) return;
  if (!challenge->bearer) return Require(*challenge == Challenge{});
  Require(!challenge->realm.empty() && IsText(challenge->realm) && IsText(challenge->service));
  Require(ParseChallenge("Bearer realm=" + Quoted(challenge->realm) +
                         ",service=" + Quoted(challenge->service)) == challenge);
  const auto token = TokenTargetOf(*challenge, "library/busybox");
  if (!token) return Require(token.error().code == Code::kInvalid);
  Require(!token->origin.host.empty() && token->target.starts_with('/'));
  Require(token->target.ends_with("scope=repository%3Alibrary%2Fbusybox%3Apull"));
  const std::string& host = token->origin.host;
  Require(token->origin.tls || host.starts_with("127.") || host.find(':') != host.npos ||
          host.size() == std::string_view("localhost").size());
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tidemill::FuzzChallenge({reinterpret_cast<const char*>(data), size});
  return 0;
}
