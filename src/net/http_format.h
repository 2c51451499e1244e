// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: messages become bytes here. Only fields that IsSafeField may be given.

#include <string>
#include <string_view>

#include "net/http.h"

namespace tidemill {

// How the connection goes on after a message.
enum class Persistence { kDefault, kKeepAlive, kClose, kStream };

// True if an answer of this status has neither a body nor a length.
bool IsBodiless(int status);

// The head of an answer with its empty line. The length that it announces is that of
// `response.body`.
std::string FormatHead(const HttpResponse& response, std::string_view date,
                       Persistence persistence);

// The head of a request, likewise.
std::string FormatHead(const HttpCall& call, const Origin& origin);

}  // namespace tidemill
