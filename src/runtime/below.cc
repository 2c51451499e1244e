// SPDX-License-Identifier: Apache-2.0
#include "runtime/below.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace tidemill {
namespace {

// Engines start runtimes with a path of their own, or none.
constexpr std::string_view kUsualPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool CanRun(const std::string& program, const std::string& self) {
  struct stat found{};
  struct stat own{};
  if (stat(program.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if (access(program.c_str(), X_OK) != 0) return false;
  return stat(self.c_str(), &own) != 0 || !IsSame(found, own);
}

std::optional<std::string> FindOne(const std::string& program, std::string_view path,
                                   const std::string& self) {
  if (program.starts_with('/')) {
    return CanRun(program, self) ? std::optional(program) : std::nullopt;
  }
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    const std::string folder(path.substr(0, colon));
    path.remove_prefix(std::min(colon + 1, path.size()));
    // A relative folder is one of whoever calls, and no place for a runtime.
    if (!folder.starts_with('/')) continue;
    std::string whole = folder + "/" + program;
    if (CanRun(whole, self)) return whole;
  }
  return {};
}

}  // namespace

Result<std::string> FindRuntimeBelow(const std::vector<std::string>& programs,
                                     std::string_view path, const std::string& self) {
  std::string names;
  for (const std::string& program : programs) {
    if (auto found = FindOne(program, path.empty() ? kUsualPath : path, self)) {
      return *std::move(found);
    }
    names.append(names.empty() ? "" : ", ").append(program);
  }
  return Fail(Code::kNotFound, "there is no runtime to hand over to (" + names +
                                   "): install one, or name it in 'runtimes' of the config file");
}

Error BecomeProgram(const std::string& program, const std::vector<std::string>& args) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return {Code::kUnavailable, program + ": " + std::strerror(errno)};
}

}  // namespace tidemill
