// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/context.h"
#include "cli/open_items.h"
#include "cli/spec_file.h"

// Where a job's spec comes from. What goes wrong is said to the person, and gives the exit code.
namespace tidemill::cli {

struct SpecSource {
  std::string name;  // what its errors, and a job without a name, are called by
  std::string yaml;
};
// What a person means by `spec`: a file, "-", or a spec that the server keeps. A file of that name
// goes before one that is kept.
tl::expected<SpecSource, int> ReadSpecSource(const Context& context, const std::string& spec);

// Sends what the spec's `code` names, if it does: the spec that is stored names what was sent, not
// a folder of this machine, which is found from that of `file` on.
std::optional<int> SendCodeOf(const Context& context, const MakeStores& stores,
                              const std::string& file, LoadedSpec& spec);

}  // namespace tidemill::cli
