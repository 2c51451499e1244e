// SPDX-License-Identifier: Apache-2.0
#include "model/data.h"

namespace tidemill {
namespace {

// The longest name of a file on Linux.
constexpr std::size_t kFileNameBytes = 255;

std::string FileNameOf(std::string_view url) {
  if (url.ends_with('/')) return "files";
  const std::string_view name = url.substr(url.rfind('/') + 1);
  const bool is_name = !name.empty() && name != "." && name != ".." &&
                       name.size() <= kFileNameBytes && name.find('\0') == name.npos;
  return is_name ? std::string(name) : "file";
}

std::string PathIn(const std::string& folder, const DataPlace& place, const std::string& name,
                   std::string_view url) {
  const std::string below = folder + "/" + std::to_string(place.number) + "/";
  return below + (name.empty() ? "" : name + "/") + FileNameOf(url);
}

}  // namespace

std::string PathOf(const DataFolders& folders, const DataPlace& place, const DataInput& input) {
  return PathIn(folders.in, place, input.name, input.url);
}

std::string PathOf(const DataFolders& folders, const DataPlace& place, const DataOutput& output) {
  return PathIn(folders.out, place, output.name, output.url);
}

}  // namespace tidemill
