// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/http_server.h"
#include "server/http/needs.h"

namespace tidemill {

// Which bodies a route takes. Zero bytes: none of that type.
struct Body {
  std::size_t json_bytes = 0;
  std::size_t text_bytes = 0;
  std::size_t raw_bytes = 0;  // application/octet-stream, and nothing else then
  bool may_be_absent = false;
};

// A request whose path and body type are those of a route.
struct Call {
  HttpRequest request = {};
  std::vector<std::string> names = {};  // what stands where the pattern has {..}
  bool is_text = false;                 // the body is text/plain
  HttpRespond respond = {};
  // What the guard has found out.
  std::string token = {};    // as it was shown
  Caller caller = {};        // of a person's call
  std::string project = {};  // that the call is about
};

// Finds the route of a request: 404 for an unknown path, 405 with Allow for another method, 413 and
// 415 for a body that the route does not take. Whoever may not make the call at all hears that
// before anything is said of its body. Loop thread only.
class Router {
 public:
  using Route = std::function<void(Call)>;
  // Goes on with the route, or answers by itself. The action is the method and the pattern.
  using Admit = std::function<void(Needs, std::string action, Call, Route)>;
  explicit Router(Admit admit) : admit_(std::move(admit)) {}

  // The pattern's segments are words, or {..} for any text that is not empty. GET and DELETE take
  // no body.
  void Get(std::string_view pattern, Needs needs, Route route) {
    Add("GET", pattern, needs, {}, std::move(route));
  }
  void Post(std::string_view pattern, Needs needs, Body body, Route route) {
    Add("POST", pattern, needs, body, std::move(route));
  }
  void Put(std::string_view pattern, Needs needs, Body body, Route route) {
    Add("PUT", pattern, needs, body, std::move(route));
  }
  void Delete(std::string_view pattern, Needs needs, Route route) {
    Add("DELETE", pattern, needs, {}, std::move(route));
  }

  void Handle(HttpRequest request, HttpRespond respond) const;
  // What the route of a request needs, whose body may not have come yet; nothing: it has no route.
  std::optional<Needs> NeedsOf(const HttpRequest& head) const;

 private:
  struct Entry {
    std::string method;
    std::string action;
    std::vector<std::string> pattern;
    Needs needs = Needs::kAdmin;
    Route route;
  };
  void Add(std::string_view method, std::string_view pattern, Needs needs, Body body, Route route);

  const Admit admit_;
  std::vector<Entry> entries_;
};

}  // namespace tidemill
