// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// Makes items of the records of a table: JSON objects whose fields are its columns, all of them
// strings.
class ItemObjects {
 public:
  // kInvalid: a name that is empty, is there twice, or is no UTF-8.
  static Result<ItemObjects> Of(const std::vector<std::string>& columns);
  // kInvalid: there are more or fewer values than columns, or one is no UTF-8.
  Result<std::string> Format(const std::vector<std::string>& values) const;

 private:
  std::vector<std::string> names_;  // in quotes
};

// The object with its strings, at any depth, as `rewrite` leaves them; what is no JSON object, or
// has none that `rewrite` says it changed, stays as it is.
std::string RewriteItemTexts(const std::string& line,
                             const std::function<bool(std::string&)>& rewrite);

// kInvalid: the line is not one JSON object.
Result<void> CheckItemObject(std::string_view line);

}  // namespace tidemill
