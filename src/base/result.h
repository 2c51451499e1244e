// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace tidemill {

// Says what the caller may do next. Add a code only when some caller will branch on it.
enum class Code : std::uint8_t {
  kInvalid,      // the user must change the request
  kNobody,       // who asks is not known here: sign in, or join anew
  kForbidden,    // who asks may not do this
  kNotFound,     // there is no such thing, and waiting will not make one
  kConflict,     // somebody moved first: read again, then decide
  kLost,         // our session or lease is gone: drop the work, report nothing
  kExhausted,    // a limit is reached: wait for room
  kUnavailable,  // nothing was done: retry with backoff
  kUnknown,      // it may have been done: only an idempotent call may retry
  kInternal,     // a bug of ours
};

std::string_view CodeName(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string reason;  // never repeats what the caller already knows
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base base) : Base(std::move(base)) {}
};

inline tl::unexpected<Error> Fail(Code code, std::string reason) {
  return tl::unexpected<Error>(Error{code, std::move(reason)});
}

// The caller owns the context, so the caller adds it: "read part 3: no space left".
inline tl::unexpected<Error> While(std::string_view doing, Error error) {
  error.reason.insert(0, ": ").insert(0, doing);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace tidemill

#define TIDEMILL_CAT_(a, b) a##b
#define TIDEMILL_CAT(a, b) TIDEMILL_CAT_(a, b)
// TIDEMILL_TRY(auto rows, Query()) declares `rows`, or returns Query()'s error.
#define TIDEMILL_TRY(decl, expr) TIDEMILL_TRY_(TIDEMILL_CAT(result_, __LINE__), decl, expr)
#define TIDEMILL_TRY_(result, decl, expr)                          \
  auto result = (expr);                                            \
  if (!result) return ::tl::unexpected(std::move(result).error()); \
  decl = *std::move(result)
// The same where only success matters.
#define TIDEMILL_TRY_VOID(expr)                \
  if (auto result_void = (expr); !result_void) \
  return ::tl::unexpected(std::move(result_void).error())
