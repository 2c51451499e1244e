// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

// How every store words what it refuses of settings.
namespace tidemill {

tl::unexpected<Error> NoSuchQueue(const std::string& name);
tl::unexpected<Error> NoSuchSpec(const std::string& name);
tl::unexpected<Error> NoSuchVersion(const std::string& name, int version);
tl::unexpected<Error> NoPoolForQueue(const std::string& queue, const std::string& pool);
tl::unexpected<Error> TooManyQueues();
tl::unexpected<Error> TooManySpecs();
tl::unexpected<Error> TooManyVersions(const std::string& name);
// Why a pool cannot go.
tl::unexpected<Error> IsDefaultPool();
tl::unexpected<Error> PoolOfQueue(const std::string& pool, const std::string& queue);
tl::unexpected<Error> PoolHasMachines(const std::string& pool);
tl::unexpected<Error> PoolHasTokens(const std::string& pool);

}  // namespace tidemill
