// SPDX-License-Identifier: Apache-2.0
#include "server/http/router.h"

#include <optional>

#include <gtest/gtest.h>

#include "server/http/query.h"

namespace tidemill {
namespace {

struct Seen {
  std::string route;
  std::vector<std::string> names;
  bool is_text = false;
  std::optional<HttpResponse> answer;
  Needs needs = Needs::kNothing;
  std::string action;
};

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    const auto note = [this](std::string name) {
      return [this, name](const Call& call) {
        seen_.route = name;
        seen_.names = call.names;
        seen_.is_text = call.is_text;
      };
    };
    router_.Get("/a", Needs::kViewer, note("list"));
    router_.Post("/a", Needs::kSubmitter, {.json_bytes = 10}, note("make"));
    router_.Get("/a/{one}", Needs::kViewer, note("show"));
    router_.Put("/a/{one}/b/{two}", Needs::kSubmitter, {.json_bytes = 10, .text_bytes = 20},
                note("put"));
    router_.Post("/a/{one}/stop", Needs::kAdmin, {.json_bytes = 10, .may_be_absent = true},
                 note("stop"));
  }

  Seen Send(std::string method, std::string path, std::string type = "", std::string body = "") {
    seen_ = {};
    router_.Handle({.method = std::move(method),
                    .path = std::move(path),
                    .content_type = std::move(type),
                    .body = std::move(body)},
                   [this](HttpResponse response) { seen_.answer = std::move(response); });
    return seen_;
  }

  int StatusOf(std::string method, std::string path, std::string type = "", std::string body = "") {
    const Seen seen = Send(std::move(method), std::move(path), std::move(type), std::move(body));
    return seen.answer ? seen.answer->status : 0;
  }

  Router router_{[this](Needs needs, std::string action, Call call, Router::Route route) {
    seen_.needs = needs;
    seen_.action = std::move(action);
    if (shut_) return call.respond({.status = 403});
    route(std::move(call));
  }};
  bool shut_ = false;
  Seen seen_;
};

TEST_F(RouterTest, FindsTheRouteAndItsNames) {
  EXPECT_EQ(Send("GET", "/a").route, "list");
  EXPECT_EQ(Send("GET", "/a/x").route, "show");
  const Seen seen = Send("PUT", "/a/x-7/b/3", "text/plain", "line");
  EXPECT_EQ(seen.route, "put");
  EXPECT_EQ(seen.names, (std::vector<std::string>{"x-7", "3"}));
  EXPECT_TRUE(seen.is_text);
}

TEST_F(RouterTest, WhoeverMayNotMakeTheCallHearsThatFirst) {
  EXPECT_EQ(Send("POST", "/a/x/stop").action, "POST /a/{one}/stop");
  EXPECT_EQ(seen_.needs, Needs::kAdmin);
  EXPECT_EQ(Send("GET", "/a").needs, Needs::kViewer);
  shut_ = true;
  EXPECT_EQ(StatusOf("POST", "/a", "text/plain", std::string(100, 'x')), 403);
  EXPECT_EQ(seen_.route, "");
  EXPECT_EQ(StatusOf("GET", "/nowhere"), 404);
}

TEST_F(RouterTest, UnknownPathsAndMethodsAreProblems) {
  for (const char* path : {"", "/", "/b", "/a/", "//a", "/a/x/", "/a/x/b", "/a//b/1"}) {
    EXPECT_EQ(StatusOf("GET", path), 404) << path;
  }
  HttpRequest encoded{.method = "GET", .path = "/a/x", .has_encoded_slash = true};
  EXPECT_EQ(router_.NeedsOf(encoded), std::nullopt);
  int status = 0;
  router_.Handle(encoded, [&status](const HttpResponse& answer) { status = answer.status; });
  EXPECT_EQ(status, 404) << "it was /a%2Fx";
  EXPECT_EQ(router_.NeedsOf({.method = "GET", .path = "/a/x"}), Needs::kViewer);
  const Seen seen = Send("DELETE", "/a");
  ASSERT_TRUE(seen.answer);
  EXPECT_EQ(seen.answer->status, 405);
  EXPECT_EQ(*FindField(seen.answer->headers, "Allow"), "GET, POST");
  EXPECT_EQ(seen.answer->content_type, "application/problem+json");
}

TEST_F(RouterTest, OnlyTheBodiesOfTheRouteAreTaken) {
  EXPECT_EQ(StatusOf("POST", "/a", "application/json", "{}"), 0);
  EXPECT_EQ(StatusOf("POST", "/a", "Application/JSON ; charset=utf-8", "{}"), 0);
  EXPECT_EQ(StatusOf("POST", "/a", "text/plain", "{}"), 415);
  EXPECT_EQ(StatusOf("POST", "/a", "", ""), 415);
  EXPECT_EQ(StatusOf("POST", "/a", "application/json", "12345678901"), 413);
  EXPECT_EQ(StatusOf("PUT", "/a/x/b/1", "text/plain", "12345678901"), 0);
  EXPECT_EQ(StatusOf("PUT", "/a/x/b/1", "application/json", "12345678901"), 413);
  EXPECT_EQ(StatusOf("POST", "/a/x/stop"), 0);
  EXPECT_EQ(StatusOf("POST", "/a/x/stop", "", "{}"), 415);
}

TEST(Query, IsReadStrictly) {
  const HttpFields fields = {{"limit", "7"}, {"state", "x"}};
  const auto query = Query::Of(fields, {"limit", "state"});
  ASSERT_TRUE(query);
  EXPECT_EQ(*query->Int("limit", {.least = 1, .most = 9, .absent = 5}), 7);
  EXPECT_EQ(*query->Int("none", {.least = 1, .most = 9, .absent = 5}), 5);
  EXPECT_FALSE(query->Int("limit", {.least = 1, .most = 6, .absent = 5}));
  EXPECT_FALSE(query->Int("state", {.least = 1, .most = 6, .absent = 5}));
  EXPECT_EQ(Query::Of(fields, {"limits", "state"}).error().reason,
            "the query: unknown name 'limit'; did you mean 'limits'?");
  EXPECT_FALSE(Query::Of({{"a", "1"}, {"a", "1"}}, {"a"}));
  for (const char* text : {"", "-1", "+1", "01", "1x", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

}  // namespace
}  // namespace tidemill
