// SPDX-License-Identifier: Apache-2.0
#include "item/path.h"

namespace tidemill {
namespace {

std::string_view WithoutSlashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

std::optional<std::string_view> PathPart(std::string_view path, std::string_view part) {
  path = WithoutSlashes(path);
  const std::size_t slash = path.rfind('/');
  if (part == "dir") {
    if (slash == std::string_view::npos) return ".";
    return WithoutSlashes(path.substr(0, slash == 0 ? 1 : slash));
  }
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (part == "name") return name;
  std::size_t dot = name.rfind('.');
  // .profile and .. have no extension.
  if (dot == std::string_view::npos || name.find_first_not_of('.') > dot) dot = name.size();
  if (part == "stem") return name.substr(0, dot);
  if (part == "ext") return dot == name.size() ? "" : name.substr(dot + 1);
  return std::nullopt;
}

}  // namespace tidemill
