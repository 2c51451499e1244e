// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: bytes become messages here, without a socket.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace tidemill {

struct ParserLimits {
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
};

enum class ParserStep {
  kMore,    // feed again when there are more bytes
  kHeader,  // comes once; feed the rest, even if it is empty
  kDone,    // the message is whole; what was not used belongs to the next one
  kBad,     // see status() and detail()
};

struct ParserFed {
  ParserStep step = ParserStep::kMore;
  std::size_t used = 0;  // what was not used must stand first in the next feed
};

// One request. Make a new parser for the next.
class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();

  ParserFed Feed(std::string_view bytes);

  // From kHeader on.
  std::optional<std::uint64_t> content_length() const;
  bool has_body() const;
  const HttpRequest& head() const;  // all but the body
  // Before any of the body is fed: it may not be longer than this.
  void LimitBody(std::size_t bytes);
  // Without its body, once.
  HttpRequest TakeHead();
  bool expects_continue() const;
  bool keep_alive() const;
  bool is_http10() const;
  bool is_head() const;
  std::size_t body_bytes() const;  // of what has been read of it
  // After kDone, once.
  HttpRequest Take();
  // After kBad: what to answer.
  int status() const;
  const std::string& detail() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// What an answer is to.
enum class ParserAnswerTo {
  kOther,
  kHead,     // it has no body, whatever its header says
  kUpgrade,  // it may be a 101
};

// One answer, after any 1xx, which it skips.
class ResponseParser {
 public:
  ResponseParser(ParserLimits limits, ParserAnswerTo to);
  ~ResponseParser();

  // Never kHeader.
  ParserFed Feed(std::string_view bytes);
  // The connection ended. kDone if that is how this answer says that it is whole.
  ParserStep FeedEnd();

  // What has come of the body of a 200 since the last time; none of any other.
  std::string TakePiece();

  int status() const;       // after kDone
  bool keep_alive() const;  // after kDone
  HttpResponse Take();      // after kDone, once
  const std::string& detail() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
