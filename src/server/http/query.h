// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace tidemill {

// A number of digits only, without a leading zero.
std::optional<std::int64_t> ParseNumber(std::string_view text);

// The query of a request, read strictly. Borrows the fields.
class Query {
 public:
  struct Bounds {
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::int64_t absent = 0;
  };

  // kInvalid: a name that is not among `known`, or one that is there twice.
  static Result<Query> Of(const HttpFields& fields, std::initializer_list<std::string_view> known);

  // Null if it is absent.
  const std::string* Find(std::string_view name) const;
  Result<std::int64_t> Int(std::string_view name, Bounds bounds) const;
  // "true" or "false"; absent means false.
  Result<bool> Flag(std::string_view name) const;

 private:
  explicit Query(const HttpFields& fields) : fields_(&fields) {}
  const HttpFields* fields_;
};

}  // namespace tidemill
