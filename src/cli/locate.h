// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/console.h"
#include "wire/up_json.h"

// Where things of this machine are.
namespace tidemill::cli {

// Where `tidemill up` keeps everything unless it is told otherwise. Root's is the machine's own.
// Nothing: there is no home either.
std::optional<std::filesystem::path> DataFolder(const Surroundings& around, bool root);

// What a `tidemill up` that still runs has written: in our own folder, or in the machine's.
std::optional<UpFile> FindUp(const Surroundings& around, bool root);

// The file's text; nothing if it cannot be read or is longer than `most`.
std::optional<std::string> ReadFile(const std::filesystem::path& path, std::size_t most);

}  // namespace tidemill::cli
