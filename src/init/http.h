// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// As much of HTTP/1.1 as a program needs to ask its init for items. Strict: what is not plainly a
// request is refused, and the connection with it.
namespace tidemill::init {

inline constexpr std::size_t kHttpHeadBytes = 8 * 1024;
inline constexpr std::size_t kHttpBodyBytes = 1024 * 1024;

struct HttpRequest {
  std::string_view method;
  std::string_view path;   // with its first slash; not decoded
  std::string_view query;  // behind the '?'
  std::string_view body;
  bool keep_alive = true;
};

struct HttpRead {
  enum class State : std::uint8_t {
    kMore,      // not all of it is there
    kContinue,  // the same, and the client waits for a 100 before it sends the body
    kWhole,
    kRefused,
  };
  State state = State::kMore;
  std::size_t bytes = 0;     // of the whole request
  int status = 0;            // why it is refused
  HttpRequest request = {};  // strings of the text that was read
};
// The first request of the text.
HttpRead ReadHttp(std::string_view text);

// The number that a query gives a name, such as "max=4"; `otherwise` if it does not. Nothing: it is
// no number, or is there twice.
std::optional<std::uint64_t> QueryNumber(std::string_view query, std::string_view name,
                                         std::uint64_t otherwise);

struct HttpAnswer {
  int status = 200;
  std::string body = {};  // none with 204
  std::string_view type = "application/json";
  std::string_view header = {};  // one more, whole: "Name: value"
};
// `title` says what is wrong, in plain words.
HttpAnswer HttpProblem(int status, std::string_view title);
std::string FormatHttp(const HttpAnswer& answer, bool keep_alive);

}  // namespace tidemill::init
