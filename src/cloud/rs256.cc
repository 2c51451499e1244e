// SPDX-License-Identifier: Apache-2.0
#include "cloud/rs256.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "base/bytes.h"

namespace tidemill {
namespace {

template <typename T, void (*Free)(T*)>
struct Freed {
  void operator()(T* value) const { Free(value); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX, EVP_MD_CTX_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;

// Nobody is there to type one.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

Result<std::string> SignRs256(const std::string& private_key_pem, std::string_view text) {
  const BioPtr bio(
      BIO_new_mem_buf(private_key_pem.data(), static_cast<int>(private_key_pem.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) {
    return Fail(Code::kInvalid, "the private key is not one of RSA in PEM, without a password");
  }
  const DigestPtr context(EVP_MD_CTX_new());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  std::string signature;
  bool is_signed =
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
  if (is_signed) {
    signature.resize(size);
    is_signed = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                               &size, bytes, text.size()) == 1;
    signature.resize(size);
  }
  ERR_clear_error();
  if (!is_signed) return Fail(Code::kInvalid, "the private key cannot sign");
  return signature;
}

std::string EncodeBase64Url(std::string_view bytes) {
  std::string text = EncodeBase64(bytes);
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  while (text.ends_with('=')) text.pop_back();
  return text;
}

}  // namespace tidemill
