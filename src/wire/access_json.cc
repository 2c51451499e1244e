// SPDX-License-Identifier: Apache-2.0
#include "wire/access_json.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/limits.h"
#include "model/cloud_role.h"
#include "model/job.h"
#include "wire/json.h"
#include "wire/page_json.h"
#include "wire/policy_json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::FormatPage;
using json::kMostText;
using json::ParsePage;
using json::Value;
using std::chrono::seconds;

constexpr std::int64_t kMostLife = 10LL * 365 * 24 * 3600;
constexpr std::int64_t kApiLife = 90LL * 24 * 3600;
constexpr std::int64_t kJoinLife = 15LL * 60;
constexpr std::int64_t kMostUses = 1'000'000;
constexpr std::size_t kApiTokenBytes = 200;

std::string ProjectText(const std::string& project) {
  return project.empty() ? std::string(kAllProjects) : project;
}

std::string ProjectOf(std::string_view text) {
  return text == kAllProjects ? std::string() : std::string(text);
}

Result<Role> ReadRole(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view name, fields.Text("role", {.most_bytes = 16}));
  const auto role = ParseRole(name);
  if (!role) {
    return json::Wrong(fields.In("role"), "must be viewer, submitter, operator or admin");
  }
  return *role;
}

Result<std::string> ReadText(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::string_view text,
               fields.Text(name, {.most_bytes = kMostText, .absent = ""}));
  return std::string(text);
}

Result<std::int64_t> ReadMilliseconds(const Fields& fields, std::string_view name) {
  return fields.Int(name, {.absent = 0});
}

Result<Token> ReadToken(const Fields& fields) {
  Token token;
  TIDEMILL_TRY(token.id, fields.Id<TokenId>("id"));
  TIDEMILL_TRY(const std::string kind, ReadText(fields, "kind"));
  token.kind = kind == "join" ? TokenKind::kJoin : TokenKind::kApi;
  TIDEMILL_TRY(token.name, ReadText(fields, "name"));
  TIDEMILL_TRY(const std::string project, ReadText(fields, "project"));
  token.project = ProjectOf(project);
  if (token.kind == TokenKind::kApi) {
    TIDEMILL_TRY(token.role, ReadRole(fields));
  }
  TIDEMILL_TRY(token.pool, ReadText(fields, "pool"));
  if (fields.Find("uses_left") != nullptr) {
    TIDEMILL_TRY(const std::int64_t left, fields.Int("uses_left", {.most = kMostUses}));
    token.uses_left = static_cast<std::int32_t>(left);
  }
  TIDEMILL_TRY(token.made_by, ReadText(fields, "made_by"));
  TIDEMILL_TRY(token.created_ms, ReadMilliseconds(fields, "created_ms"));
  TIDEMILL_TRY(token.expires_ms, ReadMilliseconds(fields, "expires_ms"));
  TIDEMILL_TRY(token.used_ms, ReadMilliseconds(fields, "used_ms"));
  TIDEMILL_TRY(token.revoked_ms, ReadMilliseconds(fields, "revoked_ms"));
  return token;
}

std::string LimitsText(const ProjectLimits& limits) {
  std::string out = "{";
  json::AppendNumber(out, "calls_per_second", limits.calls_per_second);
  json::AppendNumber(out, "items", limits.items);
  json::AppendNumber(out, "log_bytes", limits.log_bytes);
  return out + "}";
}

Result<std::vector<std::string>> ReadCloudRoles(const Fields& fields) {
  return json::ReadStrings(
      fields, "cloud_roles", kCloudRolesMost, IsCloudRolePattern,
      "must be roles, as arn:aws:iam::123456789012:role/NAME or NAME@PROJECT.iam."
      "gserviceaccount.com; one of AWS may end with * and then stands for all that begin so");
}

Result<ProjectLimits> ReadLimits(const Fields& fields) {
  constexpr std::int64_t kMostCalls = 1'000'000;
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  ProjectLimits read;
  const ProjectLimits usual;
  TIDEMILL_TRY(const std::int64_t calls,
               fields.Int("calls_per_second",
                          {.least = 1, .most = kMostCalls, .absent = usual.calls_per_second}));
  read.calls_per_second = static_cast<std::int32_t>(calls);
  TIDEMILL_TRY(read.items, fields.Int("items", {.most = kMost, .absent = usual.items}));
  TIDEMILL_TRY(read.log_bytes, fields.Int("log_bytes", {.most = kMost, .absent = usual.log_bytes}));
  return read;
}

}  // namespace

Result<std::string> json::ReadNoun(const Fields& fields, std::string_view field) {
  TIDEMILL_TRY(const std::string_view name, fields.Text(field, {.most_bytes = limits::kNameBytes}));
  if (!IsName(name)) return Wrong(fields.In(field), "must be letters, digits, '.', '_' and '-'");
  return std::string(name);
}

// --- tokens ---

Result<NewToken> ParseNewToken(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(
      fields.Only({"kind", "name", "project", "role", "pool", "uses", "life_seconds"}));
  NewToken token;
  TIDEMILL_TRY(const std::string_view kind,
               fields.Text("kind", {.most_bytes = 8, .absent = "api"}));
  if (kind != "api" && kind != "join") return json::Wrong(fields.In("kind"), "must be api or join");
  const bool join = kind == "join";
  token.kind = join ? TokenKind::kJoin : TokenKind::kApi;
  TIDEMILL_TRY(token.name, fields.Text("name", {.most_bytes = limits::kTokenNameBytes}));
  if (fields.Find("project") != nullptr) {
    TIDEMILL_TRY(const std::string_view project,
                 fields.Text("project", {.most_bytes = limits::kNameBytes}));
    if (project != kAllProjects && !IsName(project)) {
      return json::Wrong(fields.In("project"), "must be a project's name, or * for all");
    }
    token.project = project;
  }
  if (join) {
    if (fields.Find("role") != nullptr) {
      return json::Wrong(fields.In("role"), "a join token has a pool, not a role");
    }
    TIDEMILL_TRY(token.pool, json::ReadNoun(fields, "pool"));
    if (fields.Find("uses") != nullptr) {
      TIDEMILL_TRY(const std::int64_t uses, fields.Int("uses", {.least = 1, .most = kMostUses}));
      token.uses = static_cast<std::int32_t>(uses);
    }
  } else {
    for (const std::string_view other : {"pool", "uses"}) {
      if (fields.Find(other) != nullptr) {
        return json::Wrong(fields.In(other), "is for a join token; this one has a role");
      }
    }
    TIDEMILL_TRY(token.role, ReadRole(fields));
  }
  TIDEMILL_TRY(const std::int64_t life,
               fields.Int("life_seconds",
                          {.least = 1, .most = kMostLife, .absent = join ? kJoinLife : kApiLife}));
  token.life = seconds(life);
  return token;
}

std::string FormatNewToken(const NewToken& token) {
  std::string out = "{";
  json::AppendText(out, "name", token.name);
  if (!token.project.empty()) json::AppendText(out, "project", token.project);
  if (token.kind == TokenKind::kJoin) {
    json::AppendText(out, "kind", "join");
    json::AppendText(out, "pool", token.pool);
    if (token.uses) json::AppendNumber(out, "uses", *token.uses);
  } else {
    json::AppendText(out, "role", RoleName(token.role));
  }
  if (token.life > Duration::zero()) {
    json::AppendNumber(out, "life_seconds",
                       std::chrono::duration_cast<seconds>(token.life).count());
  }
  return out + "}";
}

std::string FormatToken(const Token& token) {
  std::string out = "{";
  json::AppendText(out, "id", ToString(token.id));
  json::AppendText(out, "kind", token.kind == TokenKind::kJoin ? "join" : "api");
  json::AppendText(out, "name", token.name);
  json::AppendText(out, "project", ProjectText(token.project));
  if (token.kind == TokenKind::kJoin) {
    json::AppendText(out, "pool", token.pool);
    if (token.uses_left) json::AppendNumber(out, "uses_left", *token.uses_left);
  } else {
    json::AppendText(out, "role", RoleName(token.role));
  }
  json::AppendText(out, "made_by", token.made_by);
  json::AppendNumber(out, "created_ms", token.created_ms);
  json::AppendNumber(out, "expires_ms", token.expires_ms);
  if (token.used_ms > 0) json::AppendNumber(out, "used_ms", token.used_ms);
  if (token.revoked_ms > 0) json::AppendNumber(out, "revoked_ms", token.revoked_ms);
  return out + "}";
}

std::string FormatMadeToken(const MadeToken& made) {
  std::string out = "{";
  json::AppendValue(out, "token", FormatToken(made.token));
  json::AppendText(out, "secret", made.secret);
  return out + "}";
}

Result<MadeToken> ParseMadeToken(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  MadeToken made;
  const Value* token = fields.Find("token");
  if (token == nullptr) return json::Wrong(fields.In("token"), "is missing");
  const json::Path path = fields.In("token");
  TIDEMILL_TRY(const Fields inner, Fields::Of(*token, path));
  TIDEMILL_TRY(made.token, ReadToken(inner));
  TIDEMILL_TRY(made.secret, fields.Text("secret", {.most_bytes = kApiTokenBytes}));
  return made;
}

std::string FormatTokens(const std::vector<Token>& tokens, bool more) {
  const std::string next = more && !tokens.empty() ? ToString(tokens.back().id) : "";
  return FormatPage("tokens", tokens, next, FormatToken);
}

Result<Page<Token>> ParseTokens(std::string_view body) {
  return ParsePage<Token>(body, "tokens", ReadToken);
}

Result<std::string> ParseLogin(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"token"}));
  TIDEMILL_TRY(const std::string_view token, fields.Text("token", {.most_bytes = kApiTokenBytes}));
  return std::string(token);
}

std::string FormatCaller(const Caller& caller) {
  std::string out = "{";
  json::AppendText(out, "token", ToString(caller.token));
  json::AppendText(out, "name", caller.name);
  json::AppendText(out, "project", ProjectText(caller.project));
  json::AppendText(out, "role", RoleName(caller.role));
  return out + "}";
}

Result<Caller> ParseCaller(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  Caller caller;
  TIDEMILL_TRY(caller.token, fields.Id<TokenId>("token"));
  TIDEMILL_TRY(caller.name, ReadText(fields, "name"));
  TIDEMILL_TRY(const std::string project, ReadText(fields, "project"));
  caller.project = ProjectOf(project);
  TIDEMILL_TRY(caller.role, ReadRole(fields));
  return caller;
}

// --- projects and pools ---

Result<ProjectLimits> ParseProjectLimits(std::string_view body) {
  if (body.empty()) return ProjectLimits{};
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"calls_per_second", "items", "log_bytes"}));
  return ReadLimits(fields);
}

std::string FormatProjectLimits(const ProjectLimits& limits) { return LimitsText(limits); }

Result<std::vector<std::string>> ParseProjectRoles(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"cloud_roles"}));
  return ReadCloudRoles(fields);
}

std::string FormatProjectRoles(const std::vector<std::string>& roles) {
  std::string out = "{";
  json::AppendStrings(out, "cloud_roles", roles);
  return out + "}";
}

std::string FormatProject(const Project& project) {
  std::string out = "{";
  json::AppendText(out, "name", project.name);
  json::AppendValue(out, "limits", LimitsText(project.limits));
  json::AppendStrings(out, "cloud_roles", project.cloud_roles);
  json::AppendNumber(out, "created_ms", project.created_ms);
  return out + "}";
}

std::string FormatProjects(const std::vector<Project>& projects, bool more) {
  const std::string next = more && !projects.empty() ? projects.back().name : "";
  return FormatPage("projects", projects, next, FormatProject);
}

Result<Page<Project>> ParseProjects(std::string_view body) {
  return ParsePage<Project>(body, "projects", [](const Fields& fields) -> Result<Project> {
    Project project;
    TIDEMILL_TRY(project.name, json::ReadNoun(fields, "name"));
    TIDEMILL_TRY(project.created_ms, ReadMilliseconds(fields, "created_ms"));
    if (const Value* limits = fields.Find("limits")) {
      const json::Path path = fields.In("limits");
      TIDEMILL_TRY(const Fields inner, Fields::Of(*limits, path));
      TIDEMILL_TRY(project.limits, ReadLimits(inner));
    }
    TIDEMILL_TRY(project.cloud_roles, ReadCloudRoles(fields));
    return project;
  });
}

Result<ContainerPolicy> ParsePoolPolicy(std::string_view body) {
  if (body.empty()) return ContainerPolicy{};
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"policy"}));
  return json::ReadPolicy(fields, "policy");
}

std::string FormatPoolPolicy(const ContainerPolicy& policy) {
  std::string out = "{";
  json::AppendValue(out, "policy", json::PolicyText(policy));
  return out + "}";
}

// --- secrets ---

Result<std::string> ParseSecretValue(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"value"}));
  TIDEMILL_TRY(std::string secret, fields.Bytes("value", limits::kSecretBytes));
  if (secret.empty()) return json::Wrong(fields.In("value"), "must not be empty");
  return secret;
}

std::string FormatSecretValue(std::string_view value) {
  std::string out = "{";
  json::AppendText(out, "value", EncodeBase64(value));
  return out + "}";
}

std::string FormatSecrets(const std::vector<SecretInfo>& secrets) {
  return FormatPage("secrets", secrets, "", [](const SecretInfo& secret) {
    std::string out = "{";
    json::AppendText(out, "name", secret.name);
    json::AppendNumber(out, "updated_ms", secret.updated_ms);
    json::AppendText(out, "updated_by", secret.updated_by);
    return out + "}";
  });
}

Result<std::vector<SecretInfo>> ParseSecrets(std::string_view body) {
  const auto page =
      ParsePage<SecretInfo>(body, "secrets", [](const Fields& fields) -> Result<SecretInfo> {
        SecretInfo secret;
        TIDEMILL_TRY(secret.name, json::ReadNoun(fields, "name"));
        TIDEMILL_TRY(secret.updated_ms, ReadMilliseconds(fields, "updated_ms"));
        TIDEMILL_TRY(secret.updated_by, ReadText(fields, "updated_by"));
        return secret;
      });
  if (!page) return tl::unexpected(page.error());
  return page->rows;
}

// --- audit ---

std::string FormatAudit(const std::vector<AuditRow>& rows, bool more) {
  const std::string next = more && !rows.empty() ? std::to_string(rows.back().id) : "";
  return FormatPage("audit", rows, next, [](const AuditRow& row) {
    std::string out = "{";
    json::AppendNumber(out, "id", row.id);
    json::AppendNumber(out, "at_ms", row.at_ms);
    json::AppendText(out, "project", row.project);
    json::AppendText(out, "who", row.who);
    json::AppendText(out, "token", row.token);
    json::AppendText(out, "address", row.address);
    json::AppendText(out, "action", row.action);
    json::AppendText(out, "target", row.target);
    json::AppendFlag(out, "allowed", row.allowed);
    return out + "}";
  });
}

Result<Page<AuditRow>> ParseAudit(std::string_view body) {
  return ParsePage<AuditRow>(body, "audit", [](const Fields& fields) -> Result<AuditRow> {
    AuditRow row;
    TIDEMILL_TRY(row.id, ReadMilliseconds(fields, "id"));
    TIDEMILL_TRY(row.at_ms, ReadMilliseconds(fields, "at_ms"));
    TIDEMILL_TRY(row.project, ReadText(fields, "project"));
    TIDEMILL_TRY(row.who, ReadText(fields, "who"));
    TIDEMILL_TRY(row.token, ReadText(fields, "token"));
    TIDEMILL_TRY(row.address, ReadText(fields, "address"));
    TIDEMILL_TRY(row.action, ReadText(fields, "action"));
    TIDEMILL_TRY(row.target, ReadText(fields, "target"));
    TIDEMILL_TRY(row.allowed, fields.Flag("allowed", true));
    return row;
  });
}

}  // namespace tidemill
