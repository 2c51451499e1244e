// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

// Errors as RFC 9457 has them: application/problem+json.
namespace tidemill {

inline constexpr std::string_view kProblemType = "application/problem+json";

struct Problem {
  int status = 500;
  std::string code;    // the last part of its type, /problems/<code>
  std::string title;   // the same for all of one code
  std::string detail;  // what it was this time
  std::string next;    // what a person can do now
};

// Says nothing of what is inside us: the reason of kInternal is for the log.
Problem ProblemOf(const Error& error);
// One that comes from HTTP itself (404, 405, 413, 415, 503 ...), not from what was asked for.
Problem ProblemOf(int status, std::string detail);

std::string FormatProblem(const Problem& problem);

// What an answer that is no success means to the one who asked. Any body will do: it may come from
// something in between.
Error ParseProblem(int status, std::string_view body);
// The same in full, for people: what the answer does not say is as for any of its status.
Problem ReadProblem(int status, std::string_view body);

}  // namespace tidemill
