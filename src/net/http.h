// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_stream.h"
#include "base/result.h"

namespace tidemill {

// Every member of the values below has an initialiser, so that designated initialisers may leave it
// out without a warning.

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The one who waits for an answer that is given later. Loop thread only.
struct HttpPeer {
  // The connection is closed: an answer would reach nobody, so nothing should be granted for it.
  bool gone = false;
  // Called at most once, when `gone` becomes true while the request is unanswered. Set it to free a
  // waiter early; it must not hold on to the peer itself.
  std::function<void()> on_gone;
};

// A request as a handler sees it.
struct HttpRequest {
  std::string method = {};  // HEAD comes as GET: the server leaves the body of the answer away
  std::string path = {};    // decoded, from '/' on, without the query; any byte but NUL
  HttpFields query = {};    // decoded, in the order given; '+' is a space
  // Of the slashes in `path`, one was encoded: its sender meant no end of a segment by it.
  bool has_encoded_slash = false;
  std::string content_type = {};
  std::string body = {};
  HttpFields headers = {};   // as they came; find one with FindField
  std::string address = {};  // of the client, without its port
  bool is_tls = false;       // came over an encrypted connection
  // Shared by the connection and whoever answers. A server never leaves it null.
  std::shared_ptr<HttpPeer> peer = {};
};

struct HttpResponse {
  int status = 200;
  std::string content_type = {};  // empty: no Content-Type is sent
  std::string body = {};
  HttpFields headers = {};  // without those that belong to the connection or the length of the body
  // Of a 101, which only a request gets that WantsStream: takes the connection over, on the loop
  // thread and not from inside of the answer. Never called if the client is gone by then.
  std::function<void(std::unique_ptr<ByteStream>)> on_stream = {};
};

// A request as a client gives it.
struct HttpCall {
  std::string method = "GET";
  std::string target = "/";  // the path and query, already encoded; see PercentEncode
  std::string content_type = {};
  std::string body = {};
  // For all of it: the wait for a connection, the connect, the request and the whole answer.
  std::chrono::milliseconds timeout{30'000};
  HttpFields headers = {};
  // If set, it gets the body of a 200 piece by piece as it comes, valid during the call, and the
  // answer has none: for those that last long. It must not destroy the client.
  std::function<void(std::string_view)> on_piece = {};
};

struct HttpTarget {
  std::string path = {};
  HttpFields query = {};
  bool has_encoded_slash = false;  // in its path
};

// Where a server is.
struct Origin {
  std::string host = {};  // a name, an IPv4 address, or an IPv6 address without brackets
  std::uint16_t port = 80;
  // Not empty: the server is behind this Unix socket; `host` is only what it is told its name is.
  std::string unix_path = {};
  bool tls = false;  // https
};

// The value of the first field of that name in any spelling, or nullptr.
const std::string* FindField(const HttpFields& fields, std::string_view name);

// False for what would end its line early and so smuggle a field of somebody else's into a message.
bool IsSafeField(std::string_view name, std::string_view value);

// kInvalid: the target is not "/...", "http://host/..." or has a malformed escape or an escaped
// NUL.
Result<HttpTarget> ParseTarget(std::string_view target);

// Encodes everything but letters, digits and "-._~", so that the result can be one segment of a
// path, or a name or value of a query.
std::string PercentEncode(std::string_view text);

// "https://host:port" or "http://host:port", with a '/' at the end or not; without a port it is 443
// or 80. kInvalid: anything else.
Result<Origin> ParseUrl(std::string_view url);

// The same for what must not be read on the way: http is only for this machine, that is localhost,
// 127.0.0.0/8 and ::1. kInvalid also: http to another one.
Result<Origin> ParseSafeUrl(std::string_view url);

// As it stands in a URL and in the Host field: brackets around IPv6, the port if it is not the
// scheme's own.
std::string Authority(const Origin& origin);

}  // namespace tidemill
