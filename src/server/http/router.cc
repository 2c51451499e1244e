// SPDX-License-Identifier: Apache-2.0
#include "server/http/router.h"

#include <algorithm>
#include <utility>

#include "server/http/answer.h"

namespace tidemill {
namespace {

std::vector<std::string> Segments(std::string_view path) {
  std::vector<std::string> segments;
  if (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    segments.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

// What stands for the names of the pattern; nothing if the path is another one.
std::optional<std::vector<std::string>> Match(const std::vector<std::string>& pattern,
                                              const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (pattern[i].starts_with('{')) {
      if (path[i].empty()) return std::nullopt;
      names.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return names;
}

// "Application/JSON; charset=utf-8" -> "application/json"
std::string MediaType(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return type;
}

// The problem with a request's body, or nothing.
std::optional<HttpResponse> WrongBody(const Body& takes, const HttpRequest& request,
                                      bool& is_text) {
  const bool takes_none = takes.json_bytes == 0 && takes.text_bytes == 0 && takes.raw_bytes == 0;
  if (takes_none || (request.body.empty() && takes.may_be_absent)) return std::nullopt;
  const std::string type = MediaType(request.content_type);
  is_text = takes.text_bytes > 0 && type == "text/plain";
  const bool is_json = takes.json_bytes > 0 && type == "application/json";
  const bool is_raw = takes.raw_bytes > 0 && type == "application/octet-stream";
  if (!is_text && !is_json && !is_raw) {
    std::string types = takes.raw_bytes > 0 ? "application/octet-stream" : "application/json";
    if (takes.text_bytes > 0) types.insert(0, "text/plain or ");
    return ProblemAnswer(415, "the body must be " + types);
  }
  const std::size_t most = is_text ? takes.text_bytes : is_raw ? takes.raw_bytes : takes.json_bytes;
  if (request.body.size() > most) {
    return ProblemAnswer(413, "the body has " + std::to_string(request.body.size()) +
                                  " bytes; at most " + std::to_string(most) + " are taken here");
  }
  return std::nullopt;
}

}  // namespace

void Router::Add(std::string_view method, std::string_view pattern, Needs needs, Body body,
                 Route route) {
  Entry& entry = entries_.emplace_back();
  entry.method = method;
  entry.action = std::string(method) + " " + std::string(pattern);
  entry.pattern = Segments(pattern);
  entry.needs = needs;
  entry.route = [body, route = std::move(route)](Call call) {
    if (auto problem = WrongBody(body, call.request, call.is_text)) {
      call.respond(*std::move(problem));
      return;
    }
    route(std::move(call));
  };
}

std::optional<Needs> Router::NeedsOf(const HttpRequest& head) const {
  if (head.has_encoded_slash) return std::nullopt;
  const std::vector<std::string> path = Segments(head.path);
  for (const Entry& entry : entries_) {
    if (entry.method == head.method && Match(entry.pattern, path)) return entry.needs;
  }
  return std::nullopt;
}

void Router::Handle(HttpRequest request, HttpRespond respond) const {
  // No path here has an encoded slash. Decoded, it would be another path than its sender meant.
  const std::vector<std::string> path =
      request.has_encoded_slash ? std::vector<std::string>() : Segments(request.path);
  std::string allowed;
  for (const Entry& entry : entries_) {
    auto names = Match(entry.pattern, path);
    if (!names) continue;
    if (entry.method != request.method) {
      if (!allowed.empty()) allowed += ", ";
      allowed += entry.method;
      continue;
    }
    Call call;
    call.request = std::move(request);
    call.names = *std::move(names);
    call.respond = std::move(respond);
    admit_(entry.needs, entry.action, std::move(call), entry.route);
    return;
  }
  if (allowed.empty()) {
    respond(ProblemAnswer(404, "nothing is served at this path"));
    return;
  }
  HttpResponse response = ProblemAnswer(405, "this path takes " + allowed);
  response.headers.emplace_back("Allow", allowed);
  respond(std::move(response));
}

}  // namespace tidemill
