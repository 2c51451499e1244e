// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only: what calls of agents and lists of machines have in common.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/session.h"
#include "wire/json.h"

namespace tidemill::json {

// No machine has a million processors or an exabyte; sums of such numbers cannot overflow.
inline constexpr std::int64_t kMostMillicpus = 1'000'000'000;
inline constexpr std::int64_t kMostMemory = std::int64_t{1} << 60;

// {"cpus":1.5,"memory":1024} and "devices" where there are some.
std::string ResourcesText(const Resources& resources);
Result<Resources> ReadResources(const Fields& fields, std::string_view name);

// What may be sent of a reason: it comes from whatever an engine says, and what no server would
// take is left out.
std::string ReasonText(std::string_view reason);

// {"engine":"docker","enforces":true,"jobs":[{"job":7,"running":3,"cpus":2.5,"memory":1024}]}
// and "trouble", "waits_for" and "progress" where there are some.
std::string StatusText(const MachineStatus& status);
// The field `status`; nothing if it is absent.
Result<std::optional<MachineStatus>> ReadStatus(const Fields& fields);

}  // namespace tidemill::json
