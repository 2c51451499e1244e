// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/one_item.h"
#include "model/spec.h"

// What is decided about an item that is run on this machine. Pure, but for what it is given.
namespace tidemill::cli {

// An item that could not be run, as `docker run` has it; and one whose time was over, as `timeout`.
inline constexpr int kCannotRun = 125;
inline constexpr int kTimeIsOver = 124;
inline constexpr int kMemoryIsOver = 137;

// The exit code of a command that ran an item: the item's own, if that ended by itself.
int ExitOfEnd(const OneEnd& end);

// "exit 3, after 1.2 s, 14 MiB at most"
std::string OutcomeText(const Outcome& outcome);

// The values of all secrets that a job names. `told` are NAME=FILE; of those that it does not name,
// `env` is asked for a variable of that name, or of the one that the item is to have. kInvalid: one
// is missing, and the reason says what to do.
using ReadVariable = std::function<std::optional<std::string>(const std::string&)>;
using ReadSecretFile = std::function<std::optional<std::string>(const std::string&)>;
Result<std::map<std::string, std::string>> SecretsFor(const RunSpec& run,
                                                      const std::vector<std::string>& told,
                                                      const ReadVariable& env,
                                                      const ReadSecretFile& read);

// The folders that stand for all volumes which a job mounts. `told` are NAME=FOLDER. kInvalid: as
// above.
Result<std::map<std::string, std::string>> VolumesFor(const RunSpec& run,
                                                      const std::vector<std::string>& told);

// What an attempt was allowed to use that used `peak` at most: servers give an item that ran out of
// memory twice as much, from `start` up to `most`.
std::int64_t MemoryOf(std::int64_t start, std::int64_t most, std::int64_t peak);

}  // namespace tidemill::cli
