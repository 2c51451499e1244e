// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "wire/json.h"

namespace tidemill::json {

// The field `secrets` of a spec whose variables are `env`.
Result<std::vector<SecretUse>> ReadSecretUses(const Fields& spec,
                                              const std::map<std::string, std::string>& env);

// The field `image_login`: a secret's name, or empty.
Result<std::string> ReadImageLogin(const Fields& spec);

}  // namespace tidemill::json
