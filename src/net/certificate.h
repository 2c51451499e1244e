// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

// Certificates for those who have nobody to give them one.
namespace tidemill {

// A certificate and the key that goes with it, as PEM texts.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// An authority of one's own, for 10 years. Times are seconds since 1970.
Result<KeyPair> MakeAuthority(std::int64_t now_s);

// A server's certificate of that authority, for 825 days: longer ones are refused by some clients.
// `hosts` are names and IP addresses. kInvalid: the authority cannot be read, or there is no host,
// or one that no certificate can name.
Result<KeyPair> MakeServerCertificate(const KeyPair& authority,
                                      const std::vector<std::string>& hosts, std::int64_t now_s);

// When the first certificate of the text ends. kInvalid: there is none.
Result<std::int64_t> CertificateExpiry(const std::string& pem);

}  // namespace tidemill
