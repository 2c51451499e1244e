// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace tidemill {

// The root folder of a container that does not run yet. Its content is the image's, and hostile:
// whatever a link in it says, nothing outside is touched, because the kernel resolves every path as
// if this were the root (openat2, Linux 5.6). Paths are whole, as the container sees them.
class RootFolder {
 public:
  static Result<RootFolder> Open(const std::string& path);

  // With its parents, as far as they are not there.
  Result<Fd> MakeFolder(std::string_view path) const;
  // In place of the file or link that is there.
  Result<void> Write(std::string_view path, std::string_view content) const;
  // A link that says `target`, which is not looked at; in place of a link that is there. kConflict:
  // something else is.
  Result<void> Link(std::string_view path, const std::string& target) const;
  // Runs a static program of the machine's with this as its root, and waits for its end.
  Result<void> Run(const std::string& program, const std::vector<std::string>& args) const;

 private:
  explicit RootFolder(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace tidemill
