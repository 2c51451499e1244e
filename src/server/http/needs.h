// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "model/access.h"

namespace tidemill {

// What a call needs, as schema/openapi.yaml says it for each operation.
enum class Needs : std::uint8_t {
  kNothing,
  kViewer,
  kSubmitter,
  kOperator,
  kAdmin,
  kServer,        // any role, for all projects
  kServerAdmin,   // the role admin, for all projects
  kJoinToken,     // of a pool, or the session's own
  kSessionToken,  // of an agent
};

// Whether a person may make such a call.
bool Suffices(const Caller& caller, Needs needs);
// As a person reads it.
std::string_view NeedsName(Needs needs);

}  // namespace tidemill
