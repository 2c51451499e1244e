// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// Who a job's items are to a cloud, instead of nobody:
//   AWS     a role: "arn:aws:iam::123456789012:role/render"
//   Google  a service account: "render@films-1.iam.gserviceaccount.com"
enum class RoleCloud { kNone, kAws, kGoogle };
// kNone: it is no name of a role.
RoleCloud CloudOf(std::string_view role);

inline constexpr std::size_t kCloudRoleBytes = 256;
// That a project may let its jobs have.
inline constexpr std::size_t kCloudRolesMost = 64;

// A role, or the beginning of some with a '*' at its end. It names its account, or its project, in
// full: what nobody owns cannot be allowed.
bool IsCloudRolePattern(std::string_view pattern);
bool MatchesAny(const std::vector<std::string>& patterns, std::string_view role);

// One a line, as stores keep them.
std::string FormatCloudRoles(const std::vector<std::string>& patterns);
std::vector<std::string> ParseCloudRoles(std::string_view text);

// The keys of a role for some time. Not kept anywhere but in memory.
struct RoleKeys {
  // JSON, which init makes its answers of.
  //   AWS     as its tools expect it: {"AccessKeyId":,"SecretAccessKey":,"Token":,"Expiration":}
  //   Google  {"access_token":,"expires_s":,"email":}, the time in seconds since 1970
  std::string document;
  std::vector<std::string> secrets;  // the parts of it that no log may show
  std::chrono::seconds ask_again{};  // there are newer ones by then, or soon
  bool operator==(const RoleKeys&) const = default;
};

}  // namespace tidemill
