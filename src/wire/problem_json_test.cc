// SPDX-License-Identifier: Apache-2.0
#include "wire/problem_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Problem, EveryCodeComesBackAsItWent) {
  for (const Code code : {Code::kInvalid, Code::kNotFound, Code::kConflict, Code::kLost,
                          Code::kExhausted, Code::kUnavailable, Code::kUnknown}) {
    const Problem problem = ProblemOf(Error{code, "why \"it\" is"});
    EXPECT_EQ(problem.code, CodeName(code));
    EXPECT_FALSE(problem.next.empty());
    const Error back = ParseProblem(problem.status, FormatProblem(problem));
    EXPECT_EQ(back.code, code) << CodeName(code);
    EXPECT_EQ(back.reason, "why \"it\" is");
  }
}

TEST(Problem, ABugTellsNothingOfWhatIsInside) {
  const Problem problem = ProblemOf(Error{Code::kInternal, "password=secret"});
  EXPECT_EQ(problem.status, 500);
  EXPECT_EQ(FormatProblem(problem).find("secret"), std::string::npos);
  EXPECT_EQ(ParseProblem(500, FormatProblem(problem)).code, Code::kInternal);
}

TEST(Problem, LooksAsTheContractSays) {
  EXPECT_EQ(FormatProblem(ProblemOf(Error{Code::kExhausted, "too many"})),
            R"({"type":"/problems/exhausted","title":"A limit is reached","status":429,)"
            R"("detail":"too many","next":"Wait, then send it again."})");
}

TEST(Problem, WhatHttpItselfRefusesHasAKindToo) {
  EXPECT_EQ(ProblemOf(413, "x").code, "too_large");
  EXPECT_EQ(ProblemOf(405, "x").code, "method");
  EXPECT_EQ(ProblemOf(418, "x").code, "invalid");
  EXPECT_EQ(ProblemOf(418, "x").status, 418);
  EXPECT_EQ(ProblemOf(599, "x").code, "internal");
}

TEST(Problem, AnswersOfStrangersAreUnderstood) {
  EXPECT_EQ(ParseProblem(502, "<html>bad gateway</html>").code, Code::kUnknown);
  EXPECT_EQ(ParseProblem(410, "").code, Code::kLost);
  EXPECT_EQ(ParseProblem(429, "{\"detail\":7}").code, Code::kExhausted);
  EXPECT_EQ(ParseProblem(403, "[]").code, Code::kForbidden);
  EXPECT_EQ(ParseProblem(403, "[]").reason, "the server answered 403");
}

}  // namespace
}  // namespace tidemill
