// SPDX-License-Identifier: Apache-2.0
#include "net/http_stream.h"

#include <algorithm>
#include <string>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>

namespace tidemill {

bool WantsStream(const HttpRequest& request) {
  const auto asks = [](const auto& field) {
    return boost::beast::iequals(field.first, "Connection") &&
           boost::beast::http::token_list(field.second).exists("upgrade");
  };
  return NamesStream(request.headers) &&
         std::any_of(request.headers.begin(), request.headers.end(), asks);
}

bool NamesStream(const HttpFields& fields) {
  const std::string* const protocol = FindField(fields, "Upgrade");
  return protocol != nullptr && boost::beast::iequals(*protocol, kStreamProtocol);
}

}  // namespace tidemill
