// SPDX-License-Identifier: Apache-2.0
#include "base/private_file.h"

#include <sys/stat.h>

namespace tidemill {

bool IsOpenToOthers(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 && (file.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

void WarnOfOpenFiles(Log& log, std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    if (path.empty() || !IsOpenToOthers(path)) continue;
    log.Warn("file.open_to_others", {{"file", path}, {"do", "chmod 600 " + path}});
  }
}

}  // namespace tidemill
