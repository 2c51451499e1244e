// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: includes OpenSSL.

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace tidemill {

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using BioPtr = std::unique_ptr<BIO, OpensslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree>;
using CertificatePtr = std::unique_ptr<X509, OpensslFree>;
using SslPtr = std::unique_ptr<SSL, OpensslFree>;

// What the last call of this thread that failed says of it; empties OpenSSL's list of errors.
inline std::string OpensslReason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "OpenSSL does not say why";
}

}  // namespace tidemill
