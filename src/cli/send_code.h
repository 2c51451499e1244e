// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "cli/context.h"
#include "cli/open_items.h"

namespace tidemill::cli {

// What went wrong, and whether the server said it.
struct CodeFault {
  Error error = {};
  bool of_server = false;
};

// What a spec's `code` names, as a packed archive: a folder, found from that of the spec's file on,
// or an archive in a store.
Result<std::string> PackCode(const Console& console, const MakeStores& stores,
                             const std::string& code, const std::string& spec_file);

// Makes a blob of what a spec's `code` names, for its items to begin in: a folder, packed, or an
// archive in a store; sends it unless the server has it already, and says so. A folder is found
// from that of the spec's file on. Gives "blob:SHA256".
tl::expected<std::string, CodeFault> SendCode(const Context& context, const MakeStores& stores,
                                              const std::string& code,
                                              const std::string& spec_file);

}  // namespace tidemill::cli
