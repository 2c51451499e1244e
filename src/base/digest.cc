// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace tidemill {

std::string Sha256(std::string_view bytes) {
  std::string digest(32, '\0');
  unsigned size = 0;
  // Fails only without memory, or if the library was built without SHA-256.
  TIDEMILL_CHECK(EVP_Digest(bytes.data(), bytes.size(),
                            reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                            nullptr) == 1);
  TIDEMILL_CHECK(size == digest.size());
  return digest;
}

Sha256Stream::Sha256Stream()
    : context_(EVP_MD_CTX_new(),
               [](void* context) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context)); }) {
  TIDEMILL_CHECK(context_ != nullptr);
  TIDEMILL_CHECK(
      EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_.get()), EVP_sha256(), nullptr) == 1);
}

void Sha256Stream::Add(std::string_view bytes) {
  TIDEMILL_CHECK(
      EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_.get()), bytes.data(), bytes.size()) == 1);
}

std::string Sha256Stream::Finish() {
  std::string digest(32, '\0');
  unsigned size = 0;
  TIDEMILL_CHECK(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_.get()),
                                    reinterpret_cast<unsigned char*>(digest.data()), &size) == 1);
  TIDEMILL_CHECK(size == digest.size());
  return digest;
}

std::string HmacSha256(std::string_view key, std::string_view bytes) {
  std::string digest(32, '\0');
  unsigned size = 0;
  TIDEMILL_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                      reinterpret_cast<unsigned char*>(digest.data()), &size) != nullptr);
  TIDEMILL_CHECK(size == digest.size());
  return digest;
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace tidemill
