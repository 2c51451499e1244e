// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/loop.h"
#include "model/policy.h"

// Who may do what: projects, the tokens of people and pools, and what is written down of calls.
namespace tidemill {

// Each may do all that those before it may. docs/security.md has the table.
enum class Role : std::int16_t { kViewer = 0, kSubmitter = 1, kOperator = 2, kAdmin = 3 };

std::string_view RoleName(Role role);
std::optional<Role> ParseRole(std::string_view name);

// Jobs, secrets and pools belong to a project, and do not exist for anybody else. This one is there
// from the beginning.
inline constexpr std::string_view kDefaultProject = "default";
inline constexpr std::string_view kDefaultPool = "default";

struct ProjectLimits {
  // Of all its tokens together, on one server; a single token may use half of it.
  std::int32_t calls_per_second = 200;
  // In jobs that are not over.
  std::int64_t items = 1'000'000'000;
  // Of one attempt at an item; what it writes beyond is left out, and its log says so.
  std::int64_t log_bytes = 100 << 20;
  bool operator==(const ProjectLimits&) const = default;
};

struct Project {
  std::string name;
  ProjectLimits limits;
  std::int64_t created_ms = 0;
  std::vector<std::string> cloud_roles = {};  // that its jobs may have; see IsCloudRolePattern
  bool operator==(const Project&) const = default;
};

struct Pool {
  std::string project;
  std::string name;
  ContainerPolicy policy;
  bool operator==(const Pool&) const = default;
};

using TokenId = Id<struct TokenTag>;

enum class TokenKind : std::int16_t {
  kApi = 0,   // a person's, or a program's
  kJoin = 1,  // a pool's: whoever has it may bring machines into the pool
};

// What is known of a token, which is all but the token itself. The id is no secret.
struct Token {
  TokenId id;
  TokenKind kind = TokenKind::kApi;
  std::string name;           // for people: whose it is, or what for
  std::string project;        // empty: all of them
  Role role = Role::kViewer;  // of an API token
  std::string pool;           // of a join token
  // How many more sessions a join token may begin; nothing: any number.
  std::optional<std::int32_t> uses_left;
  std::string made_by;
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
  std::int64_t used_ms = 0;     // to the minute; 0: never
  std::int64_t revoked_ms = 0;  // 0: it is not
  bool operator==(const Token&) const = default;
};

struct NewToken {
  TokenId id;  // made by the caller, so that the call may be repeated
  TokenKind kind = TokenKind::kApi;
  std::string secret;  // the token itself; only its hash is kept
  std::string name;
  std::string project;
  Role role = Role::kViewer;
  std::string pool;
  std::optional<std::int32_t> uses;
  std::string made_by;
  Duration life{};
};

// Who makes the tokens of machines that are ordered. They end with their pool.
inline constexpr char kAutoscaler[] = "autoscaler";

// Whoever has shown a good API token, or the cookie that was got for one.
struct Caller {
  TokenId token;
  std::string name;
  std::string project;  // empty: all of them
  Role role = Role::kViewer;
  ProjectLimits limits;  // of its project
  bool operator==(const Caller&) const = default;
};

// One call that could change something, and whether it was let in.
struct AuditRow {
  std::int64_t id = 0;  // ascending; given by the store
  std::int64_t at_ms = 0;
  std::string project = {};
  std::string who = {};    // the token's name; of a machine, its name
  std::string token = {};  // its id; a session's for a machine
  std::string address = {};
  std::string action = {};  // "POST /v1/jobs/{job}/pause"
  std::string target = {};  // what stands for the names: "render-7"
  bool allowed = true;
  bool operator==(const AuditRow&) const = default;
};

struct SecretInfo {
  std::string name;
  std::int64_t updated_ms = 0;
  std::string updated_by;
  bool operator==(const SecretInfo&) const = default;
};

}  // namespace tidemill
