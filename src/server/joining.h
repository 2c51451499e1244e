// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "model/sync.h"
#include "store/access_store.h"
#include "store/store.h"

namespace tidemill {

// What a server gives to those who join.
struct JoinTerms {
  Duration session_life{};
  Duration token_life{};
  std::string token;  // for the session
};

struct JoinedMachine {
  Joined answer;
  Session session;
};

// A machine joins the pool of its join token, or goes on with a session whose token it shows
// instead, and the audit says so. Blocks, as the stores do.
//   kNobody    the token is not good
//   kLost      the session has ended
//   kConflict  the machine's name is another's, by its key
Result<JoinedMachine> JoinMachine(Store& store, AccessStore& access, const JoinRequest& request,
                                  const JoinTerms& terms);

}  // namespace tidemill
