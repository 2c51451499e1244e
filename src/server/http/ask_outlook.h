// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "server/http/api.h"
#include "server/outlook.h"

namespace tidemill {

using DecidedPtr = std::shared_ptr<const Decided>;

// What is decided of a project; null if nothing is going on there.
inline void AskOutlook(ApiState& state, const std::string& project, Reply<DecidedPtr> reply) {
  state.outlook.Ask(project, [reply = std::move(reply)](Result<DecidedPtr> decided) {
    const bool is_quiet = !decided && decided.error().code == Code::kNotFound;
    reply(is_quiet ? Result<DecidedPtr>(DecidedPtr()) : std::move(decided));
  });
}

}  // namespace tidemill
