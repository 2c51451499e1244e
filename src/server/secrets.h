// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/seal.h"
#include "server/deps.h"

namespace tidemill {

using Secrets = std::map<std::string, std::string>;

// What a sealed value is bound to: it opens nowhere else.
std::string SecretContext(const std::string& project, const std::string& name);

tl::unexpected<Error> NoSecretKeys();

// The values of these secrets of a project. kNotFound: there is not every one of them. On a worker.
Result<Secrets> OpenSecrets(AccessStore& access, const KeyRing& keys, const std::string& project,
                            const std::vector<std::string>& names);

}  // namespace tidemill
