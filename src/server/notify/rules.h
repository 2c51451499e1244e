// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/public_address.h"

namespace tidemill {

// Whom servers call because a job says so: who is on the Internet, and what an operator has
// allowed. A server stands inside a network whose other machines trust it, so a job must not be
// able to speak through it.
struct NotifyRules {
  std::vector<NetBlock> allowed = {};
};
bool MayNotify(const NotifyRules& rules, const std::string& address);

// What can be said of a spec's `notify` without asking anybody: an address that may not be called,
// however it is written, and this machine's own name. Other names are looked up when they are
// called. kInvalid, with the field.
Result<void> CheckNotify(const NotifyRules& rules, const std::string& document);

}  // namespace tidemill
