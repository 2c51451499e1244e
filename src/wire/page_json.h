// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "wire/access_json.h"
#include "wire/json.h"

namespace tidemill::json {

// Any text of an answer for people.
inline constexpr std::size_t kMostText = 1000;

// {"NAME":[...],"next":"..."}
template <typename T, typename Format>
std::string FormatPage(std::string_view name, const std::vector<T>& rows, const std::string& next,
                       Format format) {
  std::string list = "[";
  for (const T& row : rows) list.append(list.size() > 1 ? "," : "").append(format(row));
  std::string out = "{";
  AppendValue(out, name, list + "]");
  if (!next.empty()) AppendText(out, "next", next);
  return out + "}";
}

template <typename T, typename Read>
Result<Page<T>> ParsePage(std::string_view body, std::string_view name, Read read) {
  TIDEMILL_TRY(const Value value, Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  Page<T> page;
  TIDEMILL_TRY_VOID(
      ReadEach(fields, name, limits::kPageRows, [&](const Fields& row) -> Result<void> {
        TIDEMILL_TRY(T one, read(row));
        page.rows.push_back(std::move(one));
        return {};
      }));
  TIDEMILL_TRY(page.next, fields.Text("next", {.most_bytes = kMostText, .absent = ""}));
  return page;
}

// A name as the nouns of the API have them.
Result<std::string> ReadNoun(const Fields& fields, std::string_view field);

}  // namespace tidemill::json
