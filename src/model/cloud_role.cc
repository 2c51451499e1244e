// SPDX-License-Identifier: Apache-2.0
#include "model/cloud_role.h"

#include <algorithm>

#include "base/ascii.h"

namespace tidemill {
namespace {

bool All(std::string_view text, bool (*is_good)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_good);
}

// What comes before the sign, which is taken away with it. Empty: there is no sign.
std::string_view CutBefore(std::string_view& rest, std::string_view sign) {
  const std::size_t end = rest.find(sign);
  if (end == rest.npos) return {};
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end + sign.size());
  return word;
}

// "arn:aws:iam::123456789012:role/" is cut away; false: it does not begin so.
bool CutAwsAccount(std::string_view& rest) {
  if (CutBefore(rest, ":") != "arn") return false;
  const std::string_view partition = CutBefore(rest, ":");
  if (!partition.starts_with("aws")) return false;
  if (!All(partition, [](char c) { return IsLower(c) || c == '-'; })) return false;
  if (CutBefore(rest, "::") != "iam") return false;
  const std::string_view account = CutBefore(rest, ":");
  return account.size() == 12 && All(account, IsDigit) && CutBefore(rest, "/") == "role";
}

bool IsAwsRoleName(std::string_view path) {
  return All(path, [](char c) {
    const bool is_sign = std::string_view("+=,.@_/-").find(c) != std::string_view::npos;
    return is_sign || IsLower(c) || IsUpper(c) || IsDigit(c);
  });
}

bool IsGoogleName(std::string_view name) {
  return All(name, [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
}

bool IsGoogleAccount(std::string_view role) {
  const std::string_view name = CutBefore(role, "@");
  return IsGoogleName(name) && IsGoogleName(CutBefore(role, ".")) &&
         role == "iam.gserviceaccount.com";
}

}  // namespace

RoleCloud CloudOf(std::string_view role) {
  if (role.size() > kCloudRoleBytes) return RoleCloud::kNone;
  if (IsGoogleAccount(role)) return RoleCloud::kGoogle;
  return CutAwsAccount(role) && IsAwsRoleName(role) && role.back() != '/' ? RoleCloud::kAws
                                                                          : RoleCloud::kNone;
}

bool IsCloudRolePattern(std::string_view pattern) {
  if (CloudOf(pattern) != RoleCloud::kNone) return true;
  if (pattern.size() > kCloudRoleBytes || !pattern.ends_with('*')) return false;
  pattern.remove_suffix(1);
  return CutAwsAccount(pattern) && (pattern.empty() || IsAwsRoleName(pattern));
}

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view role) {
  return std::any_of(patterns.begin(), patterns.end(), [role](std::string_view pattern) {
    if (!pattern.ends_with('*')) return pattern == role;
    return role.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

std::string FormatCloudRoles(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) text += pattern + "\n";
  return text;
}

std::vector<std::string> ParseCloudRoles(std::string_view text) {
  std::vector<std::string> patterns;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    patterns.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return patterns;
}

}  // namespace tidemill
