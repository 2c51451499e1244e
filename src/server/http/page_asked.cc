// SPDX-License-Identifier: Apache-2.0
#include "server/http/page_asked.h"

#include "base/limits.h"
#include "model/job.h"
#include "server/http/query.h"

namespace tidemill {

Result<PageAsked> ReadPageAsked(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"after", "limit"}));
  PageAsked asked;
  if (const std::string* after = query.Find("after")) {
    if (!IsName(*after))
      return Fail(Code::kInvalid, "after: must be the 'next' of the page before");
    asked.after = *after;
  }
  TIDEMILL_TRY(const std::int64_t limit,
               query.Int("limit", {.least = 1, .most = limits::kPageRows, .absent = kSomeRows}));
  asked.limit = static_cast<int>(limit);
  return asked;
}

Result<std::string> ReadNameToMake(const Call& call) {
  const std::string& name = call.names[0];
  if (IsName(name) && name.size() <= limits::kNameBytes) return name;
  return Fail(Code::kInvalid, "the name in the path: at most " +
                                  std::to_string(limits::kNameBytes) +
                                  " letters, digits, '.', '_' and '-'");
}

}  // namespace tidemill
