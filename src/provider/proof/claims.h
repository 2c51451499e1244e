// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/tree.h"

namespace tidemill {

// What a document that a cloud has signed says. Whatever is not as it should be is kNobody.
class Claims {
 public:
  static Result<Claims> Of(std::string_view json);

  Result<std::string> Text(std::string_view name) const;
  Result<std::int64_t> Number(std::string_view name) const;
  Result<Claims> In(std::string_view name) const;

 private:
  explicit Claims(Tree::Object fields) : fields_(std::move(fields)) {}
  const Tree* Find(std::string_view name) const;

  Tree::Object fields_;
};

}  // namespace tidemill
