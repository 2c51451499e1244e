// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/byte_stream.h"
#include "net/http.h"

// How a connection of HTTP becomes a stream of bytes: the client asks for it with
//
//   POST /v1/...            HTTP/1.1 101 Switching Protocols
//   Connection: upgrade     Connection: upgrade
//   Upgrade: PROTOCOL       Upgrade: PROTOCOL
//
// and after the empty line of the answer both send what they like. Any other answer is one of HTTP,
// and the connection goes on as before. A stream that nobody sends on is looked after by the
// system: one whose other side is gone without a word ends after some minutes.
namespace tidemill {

inline constexpr std::string_view kStreamProtocol = "tidemill-stream";

// The request asks to become a stream of this protocol.
bool WantsStream(const HttpRequest& request);

// The message's Upgrade field is of this protocol.
bool NamesStream(const HttpFields& fields);

}  // namespace tidemill
