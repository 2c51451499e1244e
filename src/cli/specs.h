// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "model/kept_spec.h"

// Specs that are kept on the server.
namespace tidemill::cli {

// "render", or "render@3"
struct SpecRef {
  std::string name;
  std::optional<std::int32_t> version;
};
// Nothing for what cannot be one; what ends with .yaml, .yml or .json is always a file.
std::optional<SpecRef> ParseSpecRef(std::string_view text);

std::string SpecsText(const std::vector<KeptSpec>& specs, std::int64_t now_ms, std::size_t width,
                      bool colours);

Result<KeptSpec> FetchSpec(Client& client, const SpecRef& ref);

// tidemill spec put, list, show, rm
int PutSpec(const Context& context, const std::string& name, const std::string& file);
int ListSpecs(const Context& context);
int ShowSpec(const Context& context, const std::string& ref);
int RemoveSpec(const Context& context, const std::string& name);

}  // namespace tidemill::cli
