// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/access.h"

// Who may do what, as the bodies of the calls about tokens, projects, pools, secrets and the audit.
// What is sent is read strictly; in answers unknown fields are passed over.
namespace tidemill {

// In JSON a token for all projects has this for its project.
inline constexpr std::string_view kAllProjects = "*";

// A list, and what `after` or `before` must be for the next page; empty: there is none.
template <typename T>
struct Page {
  std::vector<T> rows;
  std::string next;
};

// POST /v1/tokens. Without a life: 90 days, or 15 minutes for a join token. Id, secret and who made
// it are not in it.
Result<NewToken> ParseNewToken(std::string_view body);
std::string FormatNewToken(const NewToken& token);

// The answer to it: the only place where the secret is ever seen.
struct MadeToken {
  Token token;
  std::string secret;
};
std::string FormatMadeToken(const MadeToken& made);
Result<MadeToken> ParseMadeToken(std::string_view body);

std::string FormatToken(const Token& token);
std::string FormatTokens(const std::vector<Token>& tokens, bool more);
Result<Page<Token>> ParseTokens(std::string_view body);

// POST /v1/login
Result<std::string> ParseLogin(std::string_view body);
// GET /v1/whoami
std::string FormatCaller(const Caller& caller);
Result<Caller> ParseCaller(std::string_view body);

// PUT /v1/projects/{name}
Result<ProjectLimits> ParseProjectLimits(std::string_view body);
std::string FormatProjectLimits(const ProjectLimits& limits);
// PUT /v1/projects/{name}/cloud-roles
Result<std::vector<std::string>> ParseProjectRoles(std::string_view body);
std::string FormatProjectRoles(const std::vector<std::string>& roles);
std::string FormatProject(const Project& project);
std::string FormatProjects(const std::vector<Project>& projects, bool more);
Result<Page<Project>> ParseProjects(std::string_view body);

// PUT /v1/pools/{name}; the answer is that of settings_json.h.
Result<ContainerPolicy> ParsePoolPolicy(std::string_view body);
std::string FormatPoolPolicy(const ContainerPolicy& policy);

// PUT /v1/secrets/{name}: {"value": base64}
Result<std::string> ParseSecretValue(std::string_view body);
std::string FormatSecretValue(std::string_view value);
std::string FormatSecrets(const std::vector<SecretInfo>& secrets);
Result<std::vector<SecretInfo>> ParseSecrets(std::string_view body);

std::string FormatAudit(const std::vector<AuditRow>& rows, bool more);
Result<Page<AuditRow>> ParseAudit(std::string_view body);

}  // namespace tidemill
