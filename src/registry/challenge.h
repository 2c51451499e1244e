// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace tidemill {

// What a registry wants to see before it answers.
struct Challenge {
  bool bearer = false;       // a token from `realm`; otherwise the login itself
  std::string realm = {};    // of a bearer
  std::string service = {};  // the same; may be empty
  bool operator==(const Challenge&) const = default;
};

// Reads a WWW-Authenticate field: the first way in it that is known here. Nothing if there is none,
// or if it is malformed. The scope in it is not read: what is asked for is for the asker to say.
std::optional<Challenge> ParseChallenge(std::string_view field);

// A server, and the path and query to ask there.
struct UrlTarget {
  Origin origin;
  std::string target;
};
// kInvalid: no URL, or http to another machine.
Result<UrlTarget> TargetOfUrl(std::string_view url);

// Where a token is had.
// kInvalid: the realm is no URL, or http to another machine.
Result<UrlTarget> TokenTargetOf(const Challenge& challenge, std::string_view path);

}  // namespace tidemill
