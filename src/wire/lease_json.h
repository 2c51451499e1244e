// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only: leases and what becomes of them, as syncs carry them.

#include <string>

#include "base/result.h"
#include "model/exchange.h"
#include "model/lease.h"
#include "wire/json.h"

namespace tidemill::json {

// Sets and numbers that say nothing are left out, but for those that every agent and server reads.
std::string SettlementText(const Settlement& settlement);
Result<Settlement> ReadSettlement(const Fields& fields);

std::string GrantText(const Grant& grant);
// A lease of this session.
Result<Grant> ReadGrant(const Fields& fields, SessionId session);

}  // namespace tidemill::json
