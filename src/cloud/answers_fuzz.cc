// SPDX-License-Identifier: Apache-2.0
// What a cloud, or whoever answers in its place, says of keys, tokens and notices breaks nobody who
// reads it; and what is taken is whole.
// sources: wire/cloud_json.cc wire/role_json.cc wire/json.cc wire/nearest.cc wire/runs.cc
// sources: wire/time.cc cloud/xml.cc base/bits.cc base/bytes.cc base/check.cc base/id.cc
// libraries: pugixml zstd
#include <cstdlib>

#include "cloud/xml.h"
#include "wire/cloud_json.h"
#include "wire/role_json.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void FuzzJson(std::string_view input) {
  if (const auto keys = ParseAwsKeys(input)) Require(!keys->id.empty() && !keys->secret.empty());
  if (const auto token = ParseGoogleToken(input)) Require(!token->token.empty());
  if (const auto made = ParseGeneratedToken(input)) Require(!made->token.empty());
  if (const auto keys = ParseRoleKeys(input)) {
    Require(!keys->document.empty() && *ParseRoleKeys(FormatRoleKeys(*keys)) == *keys);
  }
  (void)ParseEcrToken(input);
  (void)ParseSpotAction(input);
  (void)ParseGoogleKeyFile(input);
  (void)ParseCloudTime(input);
  Require(GoogleMessage(input).size() <= input.size() + 64);
  Require(AwsJsonMessage(input).size() <= input.size() + 64);
}

void FuzzXml(std::string_view input) {
  if (const auto root = ParseXml(input)) {
    (void)root->At("AssumeRoleResult/Credentials/AccessKeyId");
    (void)root->At("");
  }
  Require(ParseAwsXmlError(input).Text().size() <= input.size() + 64);
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  tidemill::FuzzJson(input);
  tidemill::FuzzXml(input);
  return 0;
}
