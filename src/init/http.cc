// SPDX-License-Identifier: Apache-2.0
#include "init/http.h"

#include <algorithm>
#include <charconv>

#include "frame/json.h"

namespace tidemill::init {
namespace {

constexpr std::string_view kTokenSigns = "!#$%&'*+-.^_`|~";

bool IsTokenSign(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kTokenSigns.find(c) != kTokenSigns.npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenSign);
}

bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> WholeNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

HttpRead Refused(int status) { return {.state = HttpRead::State::kRefused, .status = status}; }

// What the headers say that matters here.
struct Head {
  std::optional<std::uint64_t> length;
  bool close = false;
  bool keep_alive = false;
  bool expects = false;
  int refused = 0;  // not 0: the status
};

void TakeHeader(std::string_view name, std::string_view value, Head& head) {
  if (SameWord(name, "content-length")) {
    const auto length = WholeNumber(value);
    if (!length || (head.length && head.length != length)) head.refused = 400;
    if (length && *length > kHttpBodyBytes) head.refused = 413;
    head.length = length;
  } else if (SameWord(name, "transfer-encoding")) {
    head.refused = 411;  // no piece by piece: say the length
  } else if (SameWord(name, "connection")) {
    if (SameWord(value, "close")) head.close = true;
    if (SameWord(value, "keep-alive")) head.keep_alive = true;
  } else if (SameWord(name, "expect")) {
    if (!SameWord(value, "100-continue")) head.refused = 417;
    head.expects = true;
  }
}

// All lines behind the first.
Head ReadHeaders(std::string_view lines) {
  Head head;
  while (!lines.empty() && head.refused == 0) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 2);
    const std::size_t colon = line.find(':');
    const bool is_plain = std::all_of(line.begin(), line.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 || c == '\t';
    });
    if (colon == line.npos || !IsToken(line.substr(0, colon)) || !is_plain) {
      head.refused = 400;
    } else {
      TakeHeader(line.substr(0, colon), Trim(line.substr(colon + 1)), head);
    }
  }
  return head;
}

// "POST /path?query HTTP/1.1". 0, or the status of a refusal.
int ReadFirstLine(std::string_view line, HttpRequest& request) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == line.npos || first == last) return 400;
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(request.method) || !target.starts_with('/')) return 400;
  if (!std::all_of(target.begin(), target.end(), IsVisible)) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return version.starts_with("HTTP/") ? 505 : 400;
  }
  request.keep_alive = version == "HTTP/1.1";
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != target.npos) request.query = target.substr(mark + 1);
  return 0;
}

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    default:
      return status < 500 ? "Bad Request" : "Not Served";
  }
}

}  // namespace

HttpRead ReadHttp(std::string_view text) {
  const std::size_t head_end = text.substr(0, kHttpHeadBytes).find("\r\n\r\n");
  if (head_end == text.npos) {
    if (text.size() >= kHttpHeadBytes) return Refused(431);
    return {};
  }
  const std::string_view lines = text.substr(0, head_end);
  const std::size_t first_end = std::min(lines.find("\r\n"), lines.size());
  HttpRead read;
  if (const int status = ReadFirstLine(lines.substr(0, first_end), read.request); status != 0) {
    return Refused(status);
  }
  const Head head =
      ReadHeaders(lines.substr(first_end == lines.size() ? first_end : first_end + 2));
  if (head.refused != 0) return Refused(head.refused);
  read.request.keep_alive = (read.request.keep_alive || head.keep_alive) && !head.close;
  const std::size_t body_at = head_end + 4;
  const auto body_bytes = static_cast<std::size_t>(head.length.value_or(0));
  read.bytes = body_at + body_bytes;
  if (text.size() < read.bytes) {
    const bool nothing_yet = text.size() == body_at;
    read.state = head.expects && nothing_yet ? HttpRead::State::kContinue : HttpRead::State::kMore;
    return read;
  }
  read.request.body = text.substr(body_at, body_bytes);
  read.state = HttpRead::State::kWhole;
  return read;
}

std::optional<std::uint64_t> QueryNumber(std::string_view query, std::string_view name,
                                         std::uint64_t otherwise) {
  std::optional<std::uint64_t> found;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end == query.npos ? query.size() : end + 1);
    const std::size_t equals = part.find('=');
    if (part.substr(0, equals) != name) continue;
    if (found || equals == part.npos) return std::nullopt;
    found = WholeNumber(part.substr(equals + 1));
    if (!found) return std::nullopt;
  }
  return found.value_or(otherwise);
}

HttpAnswer HttpProblem(int status, std::string_view title) {
  return {status,
          "{\"status\":" + std::to_string(status) + ",\"title\":" + frame::JsonText(title) + "}\n",
          "application/problem+json"};
}

std::string FormatHttp(const HttpAnswer& answer, bool keep_alive) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " + ReasonOf(answer.status);
  if (answer.status != 204) {
    text.append("\r\nContent-Type: ").append(answer.type);
    text += "\r\nContent-Length: " + std::to_string(answer.body.size());
  }
  if (!answer.header.empty()) text.append("\r\n").append(answer.header);
  if (!keep_alive) text += "\r\nConnection: close";
  text += "\r\n\r\n";
  return text += answer.body;
}

}  // namespace tidemill::init
