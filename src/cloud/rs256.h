// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// The signature of RS256 (RSA, PKCS #1 version 1.5, SHA-256), raw. kInvalid: the text is no private
// key of RSA in PEM, or has a password.
Result<std::string> SignRs256(const std::string& private_key_pem, std::string_view text);

// Whether one of the certificates or public keys of RSA in `pem`, one after the other, has made the
// raw signature of the text. What else is in `pem` is passed over.
bool IsSignedRs256(const std::string& pem, std::string_view text, std::string_view signature);

// A public key of RSA in PEM, of the bytes of its modulus and exponent, the highest first.
// kInvalid: they are none.
Result<std::string> RsaPublicPem(std::string_view modulus, std::string_view exponent);

// Base64 for URLs, without padding (RFC 4648, section 5).
std::string EncodeBase64Url(std::string_view bytes);
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace tidemill
