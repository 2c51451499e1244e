// SPDX-License-Identifier: Apache-2.0
#include "runtime/hooks.h"

#include <unistd.h>

#include <filesystem>

#include "runtime/files.h"
#include "runtime/root_folder.h"
#include "wire/oci_json.h"

namespace tidemill {
namespace {

constexpr std::size_t kHookConfigBytes = 8 * 1024 * 1024;
constexpr char kLoaderConfig[] = "/etc/ld.so.conf.d/00-tidemill.conf";
// On Ubuntu the other one is a script, which a container may have no shell for.
constexpr const char* kLdconfigs[] = {"/sbin/ldconfig.real", "/usr/sbin/ldconfig.real",
                                      "/sbin/ldconfig", "/usr/sbin/ldconfig"};

Result<std::string> FindLdconfig() {
  for (const char* path : kLdconfigs) {
    if (access(path, X_OK) == 0) return std::string(path);
  }
  return Fail(Code::kNotFound, "this machine has no ldconfig; name one with --ldconfig");
}

}  // namespace

Result<std::string> RootOfState(std::string_view state) {
  const auto bundle = ParseOciStateBundle(state);
  if (!bundle) return While("the container's state", bundle.error());
  const std::string path = *bundle + "/config.json";
  TIDEMILL_TRY(const std::string config, ReadWhole(path, kHookConfigBytes));
  const auto root = ParseOciRoot(config);
  if (!root) return While(path, root.error());
  return (std::filesystem::path(*bundle) / *root).string();
}

Result<void> UpdateLdCache(const std::string& root, const std::vector<std::string>& folders,
                           const std::string& ldconfig) {
  std::string program = ldconfig;
  if (program.empty()) {
    TIDEMILL_TRY(program, FindLdconfig());
  }
  TIDEMILL_TRY(const RootFolder inside, RootFolder::Open(root));
  std::string lines;
  std::vector<std::string> args = {"-C", "/etc/ld.so.cache"};
  for (const std::string& folder : folders) {
    TIDEMILL_TRY_VOID(inside.MakeFolder(folder));
    lines.append(folder).append("\n");
    // An image's own /etc/ld.so.conf may not look into ld.so.conf.d, or not be there.
    args.push_back(folder);
  }
  TIDEMILL_TRY_VOID(inside.Write(kLoaderConfig, lines));
  return inside.Run(program, args);
}

Result<void> CreateSymlinks(const std::string& root, const std::vector<std::string>& links) {
  constexpr std::string_view kBetween = "::";
  TIDEMILL_TRY(const RootFolder inside, RootFolder::Open(root));
  for (const std::string& link : links) {
    const std::size_t between = link.find(kBetween);
    if (between == std::string::npos || between == 0) {
      return Fail(Code::kInvalid, "'" + link + "' is not TARGET::PATH");
    }
    const std::string_view path = std::string_view(link).substr(between + kBetween.size());
    TIDEMILL_TRY_VOID(inside.Link(path, link.substr(0, between)));
  }
  return {};
}

}  // namespace tidemill
