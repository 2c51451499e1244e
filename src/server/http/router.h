// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/http_server.h"

namespace tidemill {

// Which bodies a route takes. Zero bytes: none of that type.
struct Body {
  std::size_t json_bytes = 0;
  std::size_t text_bytes = 0;
  bool may_be_absent = false;
};

// A request whose path and body type are those of a route.
struct Call {
  HttpRequest request = {};
  std::vector<std::string> names = {};  // what stands where the pattern has {..}
  bool is_text = false;                 // the body is text/plain
  HttpRespond respond = {};
};

// Finds the route of a request: 404 for an unknown path, 405 with Allow for another method, 413 and
// 415 for a body that the route does not take. Loop thread only.
class Router {
 public:
  using Route = std::function<void(Call)>;

  // The pattern's segments are words, or {..} for any text that is not empty. GET takes no body.
  void Get(std::string_view pattern, Route route) { Add("GET", pattern, {}, std::move(route)); }
  void Post(std::string_view pattern, Body body, Route route) {
    Add("POST", pattern, body, std::move(route));
  }
  void Put(std::string_view pattern, Body body, Route route) {
    Add("PUT", pattern, body, std::move(route));
  }

  void Handle(HttpRequest request, HttpRespond respond) const;

 private:
  struct Entry {
    std::string method;
    std::vector<std::string> pattern;
    Body body;
    Route route;
  };
  void Add(std::string_view method, std::string_view pattern, Body body, Route route);

  std::vector<Entry> entries_;
};

}  // namespace tidemill
