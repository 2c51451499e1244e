// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace tidemill {

// A part of an item that is a path or a URL: of `a/b.tar.gz` the name is `b.tar.gz`, the stem
// `b.tar`, the ext `gz` and the dir `a`. The dir of a bare name is `.`, so that `{item.dir}/x` is
// never at the root by mistake. Slashes at the end do not count, nor does a dot at the beginning of
// a name. Nothing for any other word.
std::optional<std::string_view> PathPart(std::string_view path, std::string_view part);

}  // namespace tidemill
