// SPDX-License-Identifier: Apache-2.0
#include "net/http_format.h"

#include "net/http_stream.h"

namespace tidemill {
namespace {

// What people read in their terminals; programs look at the number.
std::string_view Reason(int status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

void AddField(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

void AddFields(std::string& head, const HttpFields& fields, std::string_view content_type) {
  if (!content_type.empty()) AddField(head, "Content-Type", content_type);
  for (const auto& [name, value] : fields) AddField(head, name, value);
}

}  // namespace

bool IsBodiless(int status) { return status == 101 || status == 204 || status == 304; }

std::string FormatHead(const HttpResponse& response, std::string_view date,
                       Persistence persistence) {
  std::string head;
  head.reserve(256);
  head.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  head.append(Reason(response.status)).append("\r\n");
  AddField(head, "Date", date);
  AddFields(head, response.headers, response.content_type);
  if (!IsBodiless(response.status)) {
    AddField(head, "Content-Length", std::to_string(response.body.size()));
  }
  if (persistence == Persistence::kKeepAlive) AddField(head, "Connection", "keep-alive");
  if (persistence == Persistence::kClose) AddField(head, "Connection", "close");
  if (persistence == Persistence::kStream) {
    AddField(head, "Connection", "upgrade");
    AddField(head, "Upgrade", kStreamProtocol);
  }
  return head.append("\r\n");
}

std::string FormatHead(const HttpCall& call, const Origin& origin) {
  std::string head;
  head.reserve(256);
  head.append(call.method).append(" ").append(call.target).append(" HTTP/1.1\r\n");
  AddField(head, "Host", Authority(origin));
  AddFields(head, call.headers, call.content_type);
  const bool may_have_none = call.method == "GET" || call.method == "HEAD";
  if (!call.body.empty() || !may_have_none) {
    AddField(head, "Content-Length", std::to_string(call.body.size()));
  }
  return head.append("\r\n");
}

}  // namespace tidemill
