// SPDX-License-Identifier: Apache-2.0
// Who may do what, as maps.
#include <algorithm>

#include "model/token.h"
#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {
namespace {

std::int64_t MillisecondsOf(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

// --- projects and pools ---

ProjectLimits MemoryStore::LimitsOf(const std::string& project) const {
  const auto found = projects_.find(project);
  return found == projects_.end() ? ProjectLimits{} : found->second.limits;
}

Result<void> MemoryStore::MayGrow(const Job& job, std::int64_t more) const {
  std::int64_t has = 0;
  for (const auto& [id, row] : under_way_) {
    if (row->job.project == job.project) {
      has += row->job.items - row->chunks.packed().items;
    }
  }
  return MayHaveItems(has, more, LimitsOf(job.project));
}

Result<Project> MemoryStore::PutProject(const std::string& name, const ProjectLimits& limits) {
  const std::lock_guard lock(mutex_);
  const auto [found, added] = projects_.try_emplace(name, Project{name, limits, NowMs(), {}});
  found->second.limits = limits;
  if (added) pools_[{name, std::string(kDefaultPool)}] = {name, std::string(kDefaultPool), {}};
  return found->second;
}

Result<Project> MemoryStore::FindProject(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = projects_.find(name);
  if (found == projects_.end()) return NoSuchProject(name);
  return found->second;
}

Result<Project> MemoryStore::SetCloudRoles(const std::string& project,
                                           const std::vector<std::string>& roles) {
  const std::lock_guard lock(mutex_);
  const auto found = projects_.find(project);
  if (found == projects_.end()) return NoSuchProject(project);
  found->second.cloud_roles = roles;
  return found->second;
}

Result<std::vector<Project>> MemoryStore::ListProjects(const std::string& after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Project> projects;
  for (auto it = projects_.upper_bound(after); it != projects_.end(); ++it) {
    if (static_cast<int>(projects.size()) == limit) break;
    projects.push_back(it->second);
  }
  return projects;
}

Result<Pool> MemoryStore::PutPool(const Pool& pool) {
  const std::lock_guard lock(mutex_);
  if (!HasProject(pool.project)) return NoSuchProject(pool.project);
  pools_[{pool.project, pool.name}] = pool;
  return pool;
}

Result<Pool> MemoryStore::FindPool(const std::string& project, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find({project, name});
  if (found == pools_.end()) return NoSuchPool(name);
  return found->second;
}

Result<std::vector<Pool>> MemoryStore::ListPools(const std::string& project,
                                                 const std::string& after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Pool> pools;
  for (const auto& [key, pool] : pools_) {
    if (key.first != project || key.second <= after) continue;
    if (static_cast<int>(pools.size()) == limit) break;
    pools.push_back(pool);
  }
  return pools;
}

// --- tokens ---

bool MemoryStore::IsGoodNow(const Token& token) const {
  return token.revoked_ms == 0 && token.expires_ms > NowMs();
}

Result<Token> MemoryStore::CreateToken(const NewToken& token) {
  const std::lock_guard lock(mutex_);
  if (!token.project.empty() && !HasProject(token.project)) return NoSuchProject(token.project);
  if (token.kind == TokenKind::kJoin && !pools_.contains({token.project, token.pool})) {
    return NoSuchPool(token.pool);
  }
  const auto [found, added] = tokens_.try_emplace(token.id);
  if (added) {
    found->second.token = {.id = token.id,
                           .kind = token.kind,
                           .name = token.name,
                           .project = token.project,
                           .role = token.role,
                           .pool = token.pool,
                           .uses_left = token.uses,
                           .made_by = token.made_by,
                           .created_ms = NowMs(),
                           .expires_ms = NowMs() + MillisecondsOf(token.life),
                           .used_ms = 0,
                           .revoked_ms = 0};
    token_hashes_[HashToken(token.secret)] = token.id;
  }
  return found->second.token;
}

Result<std::vector<Token>> MemoryStore::ListTokens(const TokenFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Token> tokens;
  for (auto it = tokens_.upper_bound(filter.after); it != tokens_.end(); ++it) {
    const Token& token = it->second.token;
    if (!filter.project.empty() && token.project != filter.project) continue;
    if (static_cast<int>(tokens.size()) == filter.limit) break;
    tokens.push_back(token);
  }
  return tokens;
}

Result<Token> MemoryStore::RevokeToken(const std::string& project, TokenId id) {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) return NoSuchToken();
  Token& token = found->second.token;
  if (!project.empty() && token.project != project) return NoSuchToken();
  if (token.revoked_ms == 0) token.revoked_ms = NowMs();
  return token;
}

Result<Caller> MemoryStore::FindCaller(const std::string& secret) {
  const std::lock_guard lock(mutex_);
  const std::string hash = HashToken(secret);
  TokenId id;
  if (const auto browser = browsers_.find(hash); browser != browsers_.end()) {
    if (browser->second.expires_us <= clock_us_()) return NotSignedIn();
    id = browser->second.token;
  } else if (const auto found = token_hashes_.find(hash); found != token_hashes_.end()) {
    id = found->second;
  } else {
    return NotSignedIn();
  }
  Token& token = tokens_.at(id).token;
  if (token.kind != TokenKind::kApi || !IsGoodNow(token)) return NotSignedIn();
  token.used_ms = NowMs();
  return Caller{id, token.name, token.project, token.role, LimitsOf(token.project)};
}

Result<void> MemoryStore::OpenBrowser(TokenId token, const std::string& cookie, Duration life) {
  const std::lock_guard lock(mutex_);
  if (!tokens_.contains(token)) return NoSuchToken();
  browsers_[HashToken(cookie)] = {token, clock_us_() + life.count()};
  return {};
}

Result<void> MemoryStore::CloseBrowser(const std::string& cookie) {
  const std::lock_guard lock(mutex_);
  browsers_.erase(HashToken(cookie));
  return {};
}

Result<JoinPlace> MemoryStore::UseJoinToken(const std::string& secret, SessionId session) {
  const std::lock_guard lock(mutex_);
  const auto found = token_hashes_.find(HashToken(secret));
  if (found == token_hashes_.end()) return NotAJoinToken();
  TokenRow& row = tokens_.at(found->second);
  Token& token = row.token;
  if (token.kind != TokenKind::kJoin || !IsGoodNow(token)) return NotAJoinToken();
  if (!row.sessions.contains(session)) {
    if (token.uses_left == 0) return NotAJoinToken();
    if (token.uses_left) --*token.uses_left;
    row.sessions.insert(session);
  }
  token.used_ms = NowMs();
  return JoinPlace{pools_.at({token.project, token.pool}), token};
}

// --- secrets ---

Result<void> MemoryStore::PutSecret(const std::string& project, const std::string& name,
                                    const std::string& sealed, const std::string& by) {
  const std::lock_guard lock(mutex_);
  if (!HasProject(project)) return NoSuchProject(project);
  const auto has = std::count_if(secrets_.begin(), secrets_.end(), [&](const auto& entry) {
    return entry.first.first == project && entry.first.second != name;
  });
  if (has >= limits::kSecretsPerProject) return TooManySecrets();
  secrets_[{project, name}] = {{name, NowMs(), by}, sealed};
  return {};
}

Result<void> MemoryStore::DropSecret(const std::string& project, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (secrets_.erase({project, name}) == 0) return NoSuchSecret(name);
  return {};
}

Result<std::vector<SecretInfo>> MemoryStore::ListSecrets(const std::string& project) {
  const std::lock_guard lock(mutex_);
  std::vector<SecretInfo> list;
  for (const auto& [key, row] : secrets_) {
    if (key.first == project) list.push_back(row.info);
  }
  return list;
}

Result<std::map<std::string, std::string>> MemoryStore::FindSecrets(
    const std::string& project, const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> sealed;
  for (const std::string& name : names) {
    const auto found = secrets_.find({project, name});
    if (found != secrets_.end()) sealed[name] = found->second.sealed;
  }
  return sealed;
}

// --- audit ---

Result<void> MemoryStore::Record(const AuditRow& row) {
  const std::lock_guard lock(mutex_);
  audit_.push_back(row);
  audit_.back().id = std::ssize(audit_);
  audit_.back().at_ms = NowMs();
  return {};
}

Result<std::vector<AuditRow>> MemoryStore::ListAudit(const AuditFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<AuditRow> rows;
  for (auto it = audit_.rbegin(); it != audit_.rend(); ++it) {
    if (filter.before && it->id >= *filter.before) continue;
    if (!filter.project.empty() && it->project != filter.project) continue;
    if (static_cast<int>(rows.size()) == filter.limit) break;
    rows.push_back(*it);
  }
  return rows;
}

// The audit's ids are its indexes here, so nothing of it is dropped; the memory store is
// short-lived.
Result<std::int64_t> MemoryStore::DropOldAccess(Duration) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(std::erase_if(
      browsers_, [now = clock_us_()](const auto& row) { return row.second.expires_us <= now; }));
}

}  // namespace tidemill
