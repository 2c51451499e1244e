// SPDX-License-Identifier: Apache-2.0
#include "cloud/rs256.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

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
using CertificatePtr = std::unique_ptr<X509, Freed<X509, X509_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Freed<BIGNUM, BN_free>>;
using BuilderPtr = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using ParamsPtr = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM, OSSL_PARAM_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
// Of what PEM holds: the name of a part, its header, its bytes.
struct OpenSslFree {
  void operator()(void* memory) const { OPENSSL_free(memory); }
};
template <typename T>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree>;

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Null: something else.
KeyPtr KeyOf(std::string_view part, const unsigned char* bytes, long size) {
  if (part == PEM_STRING_X509) {
    const CertificatePtr certificate(d2i_X509(nullptr, &bytes, size));
    return KeyPtr(certificate ? X509_get_pubkey(certificate.get()) : nullptr);
  }
  return KeyPtr(part == PEM_STRING_PUBLIC ? d2i_PUBKEY(nullptr, &bytes, size) : nullptr);
}

bool IsSignedBy(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  if (EVP_PKEY_base_id(key) != EVP_PKEY_RSA) return false;
  const DigestPtr context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), BytesOf(signature), signature.size(), BytesOf(text),
                          text.size()) == 1;
}

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

bool IsSignedRs256(const std::string& pem, std::string_view text, std::string_view signature) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  bool is_signed = false;
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* bytes = nullptr;
  long size = 0;
  while (!is_signed && PEM_read_bio(bio.get(), &name, &header, &bytes, &size) == 1) {
    const OpenSslPtr<char> held_name(name);
    const OpenSslPtr<char> held_header(header);
    const OpenSslPtr<unsigned char> held_bytes(bytes);
    const KeyPtr key = KeyOf(name, bytes, size);
    is_signed = key && IsSignedBy(key.get(), text, signature);
  }
  ERR_clear_error();
  return is_signed;
}

Result<std::string> RsaPublicPem(std::string_view modulus, std::string_view exponent) {
  const NumberPtr n(BN_bin2bn(BytesOf(modulus), static_cast<int>(modulus.size()), nullptr));
  const NumberPtr e(BN_bin2bn(BytesOf(exponent), static_cast<int>(exponent.size()), nullptr));
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), "n", n.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), "e", e.get());
  const ParamsPtr params(OSSL_PARAM_BLD_to_param(builder.get()));
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* made = nullptr;
  const bool is_made =
      EVP_PKEY_fromdata_init(context.get()) == 1 &&
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  const KeyPtr key(made);
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const bool is_written = is_made && PEM_write_bio_PUBKEY(bio.get(), key.get()) == 1;
  ERR_clear_error();
  if (!is_written) return Fail(Code::kInvalid, "these numbers are no key of RSA");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
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

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '+' || c == '/' || c == '=') return std::nullopt;
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  plain.append((4 - plain.size() % 4) % 4, '=');
  return DecodeBase64(plain);
}

}  // namespace tidemill
