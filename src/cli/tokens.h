// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/access.h"

// The tokens of people and pools.
namespace tidemill::cli {

struct TokenFlags {
  std::string name = {};
  std::string role = {};     // of a person's; empty: it is a pool's
  std::string join = {};     // the pool
  std::string project = {};  // "*": all; empty: that of the command
  std::int64_t days = 0;     // 0: as the server likes
  std::int64_t minutes = 0;  // the same, for a pool's
  std::int64_t uses = 0;     // 0: any number
};

// "good", "revoked", "expired", "used up"
std::string TokenState(const Token& token, std::int64_t now_ms);
std::string TokensText(const std::vector<Token>& tokens, std::int64_t now_ms, std::size_t width,
                       bool colours);
// The one whose id begins so. kNotFound; kInvalid: several do.
Result<Token> FindByPrefix(const std::vector<Token>& tokens, const std::string& prefix);

// What is missing, or does not go together; empty: nothing.
std::string WrongToken(const TokenFlags& flags);

// tidemill token create, list, revoke
int CreateToken(const Context& context, const TokenFlags& flags);
int ListTokens(const Context& context);
int RevokeTokens(const Context& context, const std::vector<std::string>& ids);

}  // namespace tidemill::cli
