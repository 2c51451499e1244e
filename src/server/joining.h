// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/sync.h"
#include "store/access_store.h"
#include "store/plan_store.h"
#include "store/store.h"

namespace tidemill {

// What a server gives to those who join.
struct JoinTerms {
  Duration session_life{};
  Duration heartbeat = std::chrono::seconds(10);
  Duration token_life{};
  std::string token;  // for the session
  // What its provider calls the machine, if it has proven that instead of showing a token.
  std::optional<std::string> proven = {};
};

struct JoinedMachine {
  Joined answer;
  Session session;
};

// A machine joins the pool of its join token, or goes on with a session whose token it shows
// instead, and the audit says so. Blocks, as the stores do.
//   kNobody    the token is not good
//   kUnavailable  it has proven what it is, and its provider has not shown it as one of the pool
//   yet kLost      the session has ended kConflict  the machine's name is another's, by its key
struct JoinStores {
  Store& store;
  AccessStore& access;
  PlanStore* plans = nullptr;  // null: nobody is proven
};
Result<JoinedMachine> JoinMachine(const JoinStores& stores, JoinRequest request,
                                  const JoinTerms& terms);

}  // namespace tidemill
