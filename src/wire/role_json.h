// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/cloud_role.h"

namespace tidemill {

// The keys of a job's role, as an agent gets them: {"keys":"JSON","secrets":[],"ask_again_s":60}
std::string FormatRoleKeys(const RoleKeys& keys);
Result<RoleKeys> ParseRoleKeys(std::string_view text);

// What init is given of a cloud's answer; see RoleKeys.
struct AwsRoleAnswer {
  std::string access_key;
  std::string secret_key;
  std::string token;
  std::string expiration;  // as AWS writes it: "2026-11-16T12:00:00Z"
};
std::string FormatAwsRole(const AwsRoleAnswer& answer);

// generateAccessToken of Google's IAM. kInvalid: the answer is not whole; the reason shows nothing
// of it.
struct GeneratedToken {
  std::string token;
  std::int64_t expires_ms = 0;
};
std::string FormatGenerateToken(std::int64_t life_s);
Result<GeneratedToken> ParseGeneratedToken(std::string_view body);
std::string FormatGoogleRole(const std::string& email, const GeneratedToken& made);

}  // namespace tidemill
