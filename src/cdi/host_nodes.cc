// SPDX-License-Identifier: Apache-2.0
#include "cdi/host_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cdi/under_root.h"

namespace tidemill {
namespace {

std::string Describe(char type, std::int64_t first, std::int64_t second) {
  if (type == 'p') return "p";
  return std::string(1, type) + " " + std::to_string(first) + ":" + std::to_string(second);
}

char TypeOf(mode_t mode) {
  if (S_ISCHR(mode)) return 'c';
  if (S_ISBLK(mode)) return 'b';
  return S_ISFIFO(mode) ? 'p' : '\0';
}

Result<void> Resolve(CdiNode& node, const std::string& root) {
  const std::string path = UnderRoot(root, node.host_path.empty() ? node.path : node.host_path);
  struct stat found = {};
  // Not through a link: what it points to may change between now and then.
  if (lstat(path.c_str(), &found) != 0) {
    const int why = errno;
    const bool is_whole = node.type == 'p' || (node.type != '\0' && node.major);
    if (is_whole) return {};
    const bool is_missing = why == ENOENT || why == ENOTDIR;
    return Fail(is_missing ? Code::kNotFound : Code::kUnavailable,
                "the device node " + path + ": " + std::strerror(why));
  }
  if (S_ISLNK(found.st_mode)) {
    return Fail(Code::kInvalid, path + " is a link; the spec must name the device node itself");
  }
  const char type = TypeOf(found.st_mode);
  if (type == '\0') return Fail(Code::kInvalid, path + " is no device node");
  const std::int64_t host_major = major(found.st_rdev);
  const std::int64_t host_minor = minor(found.st_rdev);
  if (node.type == '\0') node.type = type;
  if (!node.major && type != 'p') {
    node.major = host_major;
    node.minor = host_minor;
  }
  const bool is_type = node.type == type || (node.type == 'u' && type == 'c');
  const bool is_number =
      type == 'p' || (node.major == host_major && node.minor.value_or(0) == host_minor);
  if (!is_type || !is_number) {
    return Fail(Code::kInvalid,
                path + " is " + Describe(type, host_major, host_minor) + ", but the spec says " +
                    Describe(node.type, node.major.value_or(0), node.minor.value_or(0)));
  }
  if (!node.file_mode) node.file_mode = found.st_mode & 07777;
  return {};
}

}  // namespace

Result<CdiEdits> ResolveNodes(CdiEdits edits, const std::string& root) {
  for (CdiNode& node : edits.nodes) TIDEMILL_TRY_VOID(Resolve(node, root));
  return edits;
}

}  // namespace tidemill
