// SPDX-License-Identifier: Apache-2.0
#include "provider/proof/google_identity.h"

#include <algorithm>

#include "cloud/rs256.h"
#include "provider/proof/claims.h"

namespace tidemill {
namespace {

// Clocks of a cloud and of ours differ by no more.
constexpr std::int64_t kClockSlackSeconds = 60;

struct Parts {
  std::string_view is_signed;  // the first two, with the dot between them
  Claims header;
  Claims claims;
  std::string signature;
};

Result<Claims> DecodeClaims(std::string_view part) {
  const auto json = DecodeBase64Url(part);
  if (!json) return Fail(Code::kNobody, "a part of the token is not Base64");
  return Claims::Of(*json);
}

Result<Parts> Split(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) {
    return Fail(Code::kNobody, "an identity token has three parts");
  }
  TIDEMILL_TRY(Claims header, DecodeClaims(token.substr(0, first)));
  TIDEMILL_TRY(const std::string algorithm, header.Text("alg"));
  if (algorithm != "RS256") return Fail(Code::kNobody, "the token is not signed by RS256");
  TIDEMILL_TRY(Claims claims, DecodeClaims(token.substr(first + 1, second - first - 1)));
  auto signature = DecodeBase64Url(token.substr(second + 1));
  if (!signature) return Fail(Code::kNobody, "the signature is not Base64");
  return Parts{token.substr(0, second), std::move(header), std::move(claims),
               *std::move(signature)};
}

Result<void> CheckFor(const Claims& claims, const std::vector<std::string>& audiences,
                      std::int64_t now_ms) {
  TIDEMILL_TRY(const std::string issuer, claims.Text("iss"));
  if (issuer != "https://accounts.google.com" && issuer != "accounts.google.com") {
    return Fail(Code::kNobody, "the token is not Google's");
  }
  TIDEMILL_TRY(const std::string audience, claims.Text("aud"));
  if (std::find(audiences.begin(), audiences.end(), audience) == audiences.end()) {
    return Fail(Code::kNobody, "the token was made for another server: " + audience);
  }
  const std::int64_t now = now_ms / 1000;
  TIDEMILL_TRY(const std::int64_t expires, claims.Number("exp"));
  TIDEMILL_TRY(const std::int64_t issued, claims.Number("iat"));
  if (expires + kClockSlackSeconds < now) return Fail(Code::kNobody, "the token is too old");
  if (issued > now + kClockSlackSeconds) return Fail(Code::kNobody, "the token is of tomorrow");
  return {};
}

}  // namespace

Result<GoogleKeys> ParseGoogleKeys(std::string_view body) {
  const auto tree = ParseTree(body);
  const auto* const set = tree ? std::get_if<Tree::Object>(&tree->value) : nullptr;
  GoogleKeys keys;
  for (const auto& [name, list] : set == nullptr ? Tree::Object() : *set) {
    const auto* const each = std::get_if<Tree::List>(&list.value);
    if (name != "keys" || each == nullptr) continue;
    for (const Tree& key : *each) {
      const auto claims = Claims::Of(FormatTreeShort(key));
      if (!claims || claims->Text("kty").value_or("") != "RSA") continue;
      const auto modulus = DecodeBase64Url(claims->Text("n").value_or(""));
      const auto exponent = DecodeBase64Url(claims->Text("e").value_or(""));
      const auto id = claims->Text("kid");
      if (!modulus || !exponent || !id) continue;
      if (auto pem = RsaPublicPem(*modulus, *exponent); pem) keys[*id] = *std::move(pem);
    }
  }
  if (keys.empty()) return Fail(Code::kUnavailable, "Google's keys are not as they should be");
  return keys;
}

Result<ProvenMachine> CheckGoogleIdentity(std::string_view token, const GoogleKeys& keys,
                                          const std::vector<std::string>& audiences,
                                          std::int64_t now_ms) {
  TIDEMILL_TRY(const Parts parts, Split(token));
  TIDEMILL_TRY(const std::string id, parts.header.Text("kid"));
  const auto key = keys.find(id);
  if (key == keys.end() || !IsSignedRs256(key->second, parts.is_signed, parts.signature)) {
    return Fail(Code::kNobody, "no key of Google's has signed the token");
  }
  TIDEMILL_TRY_VOID(CheckFor(parts.claims, audiences, now_ms));
  TIDEMILL_TRY(const Claims google, parts.claims.In("google"));
  TIDEMILL_TRY(const Claims engine, google.In("compute_engine"));
  // Names are one's own choice: anybody may have an instance of this name in a project of his own.
  TIDEMILL_TRY(const std::string project, engine.Text("project_id"));
  TIDEMILL_TRY(const std::string zone, engine.Text("zone"));
  TIDEMILL_TRY(const std::string name, engine.Text("instance_name"));
  return ProvenMachine{"gcp", project + "/" + zone + "/" + name};
}

}  // namespace tidemill
