// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/access.h"

// A project's secrets. Values go to the server and are never shown.
namespace tidemill::cli {

std::string SecretsText(const std::vector<SecretInfo>& secrets, std::int64_t now_ms,
                        std::size_t width, bool colours);

// tidemill secret set; without a file the value comes from the terminal, which asks twice, or from
// standard input, whose last line end is left out.
int SetSecret(const Context& context, const std::string& name, const std::string& file);
// tidemill secret list, rm
int ListSecrets(const Context& context);
int RemoveSecret(const Context& context, const std::string& name);

}  // namespace tidemill::cli
