// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemill {

// Local paths as the machines find the same files: {"/mnt/nas": "s3://bucket/"} makes of
// "/mnt/nas/a/b.jpg" "s3://bucket/a/b.jpg". A name stands for whole parts of a path: "/mnt/na" is
// no beginning of "/mnt/nas". Of several that fit the longest counts. Pure.
class PathMap {
 public:
  PathMap() = default;
  explicit PathMap(const std::map<std::string, std::string>& paths);
  bool empty() const { return paths_.empty(); }
  // False: none fits, and the text is as it was.
  bool Rewrite(std::string& text) const;

 private:
  std::vector<std::pair<std::string, std::string>> paths_;  // the longest first; no slash at ends
};

}  // namespace tidemill
