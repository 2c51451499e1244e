// SPDX-License-Identifier: Apache-2.0
#include "server/http/query.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "wire/nearest.h"

namespace tidemill {

std::optional<std::int64_t> ParseNumber(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  if (text.front() == '0' && text.size() > 1) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

Result<Query> Query::Of(const HttpFields& fields, std::initializer_list<std::string_view> known) {
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    const std::string name = field->first.substr(0, limits::kNameBytes);
    if (std::find(known.begin(), known.end(), field->first) == known.end()) {
      return Fail(Code::kInvalid,
                  "the query: unknown name '" + name + "'; " + HintFor(name, known));
    }
    const bool twice = std::any_of(fields.begin(), field,
                                   [&](const auto& other) { return other.first == field->first; });
    if (twice) return Fail(Code::kInvalid, "the query: '" + name + "' is there twice");
  }
  return Query(fields);
}

const std::string* Query::Find(std::string_view name) const {
  const auto found = std::find_if(fields_->begin(), fields_->end(),
                                  [&](const auto& field) { return field.first == name; });
  return found == fields_->end() ? nullptr : &found->second;
}

Result<std::int64_t> Query::Int(std::string_view name, Bounds bounds) const {
  const std::string* text = Find(name);
  if (text == nullptr) return bounds.absent;
  const auto number = ParseNumber(*text);
  if (!number || *number < bounds.least || *number > bounds.most) {
    return Fail(Code::kInvalid, std::string(name) + ": must be a number from " +
                                    std::to_string(bounds.least) + " to " +
                                    std::to_string(bounds.most));
  }
  return *number;
}

Result<bool> Query::Flag(std::string_view name) const {
  const std::string* text = Find(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true") return true;
  return Fail(Code::kInvalid, std::string(name) + ": must be true or false");
}

}  // namespace tidemill
