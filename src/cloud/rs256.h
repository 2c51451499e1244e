// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// The signature of RS256 (RSA, PKCS #1 version 1.5, SHA-256), raw. kInvalid: the text is no private
// key of RSA in PEM, or has a password.
Result<std::string> SignRs256(const std::string& private_key_pem, std::string_view text);

// Base64 for URLs, without padding (RFC 4648, section 5).
std::string EncodeBase64Url(std::string_view bytes);

}  // namespace tidemill
