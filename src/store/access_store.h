// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/access.h"
#include "model/ids.h"
#include "model/session.h"

namespace tidemill {

struct TokenFilter {
  std::string project = {};  // empty: those of all projects, and those for all projects
  TokenId after = {};
  int limit = 100;
};

struct AuditFilter {
  std::string project = {};  // empty: all
  std::optional<std::int64_t> before = {};
  int limit = 100;
};

// Whom a join token brings into which pool.
struct JoinPlace {
  Pool pool;
  Token token;
};

// Who may do what, and what they did: the other half of what a store keeps. Tokens are given as
// they are and kept as hashes. Each call is one transaction and may be repeated. Any thread; calls
// may block.
class AccessStore {
 public:
  virtual ~AccessStore() = default;

  // --- projects and pools ---

  // New, or with other limits.
  virtual Result<Project> PutProject(const std::string& name, const ProjectLimits& limits) = 0;
  virtual Result<Project> FindProject(const std::string& name) = 0;
  // In place of those that it had. kNotFound: no such project.
  virtual Result<Project> SetCloudRoles(const std::string& project,
                                        const std::vector<std::string>& roles) = 0;
  // By name.
  virtual Result<std::vector<Project>> ListProjects(const std::string& after, int limit) = 0;
  // New, or with another policy. kNotFound: no such project.
  virtual Result<Pool> PutPool(const Pool& pool) = 0;
  virtual Result<Pool> FindPool(const std::string& project, const std::string& name) = 0;
  virtual Result<std::vector<Pool>> ListPools(const std::string& project, const std::string& after,
                                              int limit) = 0;

  // --- tokens ---

  // kNotFound: no such project or pool.
  virtual Result<Token> CreateToken(const NewToken& token) = 0;
  virtual Result<std::vector<Token>> ListTokens(const TokenFilter& filter) = 0;
  // From the commit on it is nobody's. kNotFound: no such token in `project` (empty: in any).
  virtual Result<Token> RevokeToken(const std::string& project, TokenId id) = 0;
  // kNobody: not a token or cookie that is good now.
  virtual Result<Caller> FindCaller(const std::string& secret) = 0;
  // The cookie of a browser that has shown the token; good for `life`, and as long as the token is.
  virtual Result<void> OpenBrowser(TokenId token, const std::string& cookie, Duration life) = 0;
  virtual Result<void> CloseBrowser(const std::string& cookie) = 0;
  // Counts a use if this session has not used it before. kNobody: not a join token that is good
  // now, or used up.
  virtual Result<JoinPlace> UseJoinToken(const std::string& secret, SessionId session) = 0;

  // --- secrets ---

  // `sealed` is all that the store ever sees. kNotFound: no such project. kExhausted: too many.
  virtual Result<void> PutSecret(const std::string& project, const std::string& name,
                                 const std::string& sealed, const std::string& by) = 0;
  virtual Result<void> DropSecret(const std::string& project, const std::string& name) = 0;
  // By name; a project has at most limits::kSecretsPerProject.
  virtual Result<std::vector<SecretInfo>> ListSecrets(const std::string& project) = 0;
  // Those of them that exist.
  virtual Result<std::map<std::string, std::string>> FindSecrets(
      const std::string& project, const std::vector<std::string>& names) = 0;

  // --- audit ---

  // The id and time of the row are the store's.
  virtual Result<void> Record(const AuditRow& row) = 0;
  // Newest first.
  virtual Result<std::vector<AuditRow>> ListAudit(const AuditFilter& filter) = 0;
  // Deletes what nobody needs any more: cookies that are over, tokens that have been nobody's for a
  // month, audit rows older than `audit_age`.
  virtual Result<std::int64_t> DropOldAccess(Duration audit_age) = 0;
};

}  // namespace tidemill
