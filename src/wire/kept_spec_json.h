// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/kept_spec.h"
#include "wire/access_json.h"

// Specs that are kept on the server.
namespace tidemill {

// PUT /v1/specs/{spec}: {"spec": {...}}; gives the document. It is read as that of a job is, so
// that nothing is kept that cannot be submitted; a name is not needed.
Result<std::string> ParseSpecToKeep(std::string_view body);
std::string FormatSpecToKeep(std::string_view document);

// With its document, if there is one.
std::string FormatKeptSpec(const KeptSpec& spec);
Result<KeptSpec> ParseKeptSpec(std::string_view body);
// Its document over several lines.
std::string IndentedSpec(const KeptSpec& spec);
std::string FormatKeptSpecs(const std::vector<KeptSpec>& specs, bool more);
Result<Page<KeptSpec>> ParseKeptSpecs(std::string_view body);

}  // namespace tidemill
