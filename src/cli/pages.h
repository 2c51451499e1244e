// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "net/http.h"
#include "wire/access_json.h"

// Lists that come in pages.
namespace tidemill::cli {

// A hundred thousand rows: no person reads more.
inline constexpr int kMostPages = 100;

// All rows. `path` has no query; `see` gets each page as it came.
template <typename T>
Result<std::vector<T>> FetchAll(Client& client, const std::string& path,
                                Result<Page<T>> (*parse)(std::string_view),
                                const std::function<void(const std::string&)>& see) {
  std::vector<T> all;
  std::string after;
  for (int number = 0; number < kMostPages; ++number) {
    const std::string from = after.empty() ? "" : "&after=" + PercentEncode(after);
    TIDEMILL_TRY(const std::string body, client.Get(path + "?limit=1000" + from));
    TIDEMILL_TRY(Page<T> page, parse(body));
    see(body);
    for (T& row : page.rows) all.push_back(std::move(row));
    after = page.next;
    if (after.empty()) break;
  }
  return all;
}

// Prints all of a list: as pages of JSON, a line each; or `id` of each row; or as `text` says.
template <typename T>
int PrintAll(const Context& context, const std::string& path,
             Result<Page<T>> (*parse)(std::string_view),
             const std::function<std::string(const T&)>& id,
             const std::function<std::string(const std::vector<T>&)>& text) {
  const Console& console = context.console;
  const auto rows = FetchAll<T>(context.client, path, parse, [&](const std::string& body) {
    if (console.json) console.Line(body);
  });
  if (!rows) return Explain(console, context.client, rows.error());
  if (console.json) return kDone;
  if (console.quiet) {
    for (const T& row : *rows) console.Line(id(row));
  } else {
    console.out(text(*rows));
  }
  return kDone;
}

}  // namespace tidemill::cli
