// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "wire/contexts_json.h"

// The servers that a person has signed in to: contexts.json, mode 0600, in a folder of mode 0700.
// It holds tokens, so one that others may read is not used.
namespace tidemill::cli {

// $XDG_CONFIG_HOME/tidemill/contexts.json, else ~/.config/tidemill/contexts.json. Nothing: there is
// no home either.
std::optional<std::filesystem::path> ContextsPath(const Surroundings& around);

// One that is not there is empty. kForbidden: others may read it, or it is somebody else's.
// kInvalid: it is broken. Both say what to do.
Result<ContextsFile> ReadContexts(const Surroundings& around);

// Reads it, changes it and writes it, whole or not at all. What `change` refuses leaves it as it
// was. kConflict: another process is at it.
Result<void> ChangeContexts(const Surroundings& around,
                            const std::function<Result<void>(ContextsFile&)>& change);

// Whether both are addresses of one server: however they are spelt.
bool IsSameServer(const std::string& url, const std::string& other);

// The context of this server. Null: none. kInvalid: there are several, and none of them is the
// current one.
Result<const SavedContext*> FindByServer(const ContextsFile& file, const std::string& url);

// kNotFound, with the names that there are.
tl::unexpected<Error> NoSuchContext(const ContextsFile& file, const std::string& name);

}  // namespace tidemill::cli
