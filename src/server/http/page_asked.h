// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "net/http.h"
#include "server/http/router.h"

namespace tidemill {

// Rows of a page, unless the query says how many.
inline constexpr int kSomeRows = 100;

// What lists by name are asked for: ?after=NAME&limit=N
struct PageAsked {
  std::string after;
  int limit = 0;
};
Result<PageAsked> ReadPageAsked(const HttpFields& fields);

// The name in the path of something that may be made.
Result<std::string> ReadNameToMake(const Call& call);

}  // namespace tidemill
