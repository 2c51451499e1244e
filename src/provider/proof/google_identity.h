// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "provider/proof.h"

namespace tidemill {

// Google's public keys in PEM, by their ids.
using GoogleKeys = std::map<std::string, std::string>;

// What Google publishes them as (JWK set, RFC 7517). Keys of other kinds are passed over.
// kUnavailable: it is none.
Result<GoogleKeys> ParseGoogleKeys(std::string_view body);

// An identity token (a JWT, RS256) that the metadata server has made for one of `audiences`, in its
// full form. Pure. kNobody: it proves nothing.
Result<ProvenMachine> CheckGoogleIdentity(std::string_view token, const GoogleKeys& keys,
                                          const std::vector<std::string>& audiences,
                                          std::int64_t now_ms);

}  // namespace tidemill
