// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "base/log.h"
#include "base/result.h"
#include "net/http.h"
#include "net/http_server.h"
#include "server/deps.h"

namespace tidemill {

HttpResponse JsonAnswer(std::string body, int status = 200);
// A problem, with Retry-After where the same request may succeed later.
HttpResponse ProblemAnswer(const Error& error);
HttpResponse ProblemAnswer(int status, std::string detail);

// The error as a stranger may read it: what the store says of its database stays with us.
Error ForStrangers(Error error);

// Answers with what `format` makes of the result, or with the problem. Bugs of ours are logged
// here, because the answer does not tell them.
template <typename T, typename Format>
Reply<T> AnswerWith(Log& log, HttpRespond respond, Format format) {
  return [&log, respond = std::move(respond), format = std::move(format)](Result<T> result) {
    if (result) {
      if constexpr (std::is_void_v<T>) {
        respond(format());
      } else {
        respond(format(*result));
      }
      return;
    }
    if (result.error().code == Code::kInternal) {
      log.Error("request.failed", {{"reason", result.error().reason}});
    }
    respond(ProblemAnswer(ForStrangers(result.error())));
  };
}

}  // namespace tidemill
