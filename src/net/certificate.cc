// SPDX-License-Identifier: Apache-2.0
#include "net/certificate.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "net/openssl_ptr.h"

namespace tidemill {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kAuthorityLife = 3'652 * kDay;
constexpr std::int64_t kServerLife = 825 * kDay;
// Clocks differ a little between machines.
constexpr std::int64_t kEarlier = 3'600;

tl::unexpected<Error> OpensslError(const std::string& doing) {
  return Fail(Code::kInternal, doing + ": " + OpensslReason());
}

std::string Text(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

Result<KeyPair> ToPem(X509* certificate, EVP_PKEY* key) {
  const BioPtr for_certificate(BIO_new(BIO_s_mem()));
  const BioPtr for_key(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(for_certificate.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(for_key.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return OpensslError("write a certificate");
  }
  return KeyPair{Text(for_certificate.get()), Text(for_key.get())};
}

Result<CertificatePtr> ReadCertificate(const std::string& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!certificate) return Fail(Code::kInvalid, "there is no certificate in PEM");
  return certificate;
}

Result<KeyPtr> ReadKey(const std::string& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!key) return Fail(Code::kInvalid, "there is no key in PEM");
  return key;
}

struct Life {
  std::int64_t from_s;
  std::int64_t until_s;
};

// A certificate with everything but its issuer, extensions and signature.
Result<CertificatePtr> Draft(const std::string& name, EVP_PKEY* key, Life life) {
  CertificatePtr draft(X509_new());
  // The first bit is not set, so that the number is positive and has its whole length.
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), serial.size()) != 1) return OpensslError("draw a number");
  serial[0] = static_cast<unsigned char>((serial[0] & 0x3F) | 0x40);
  BIGNUM* const number = BN_bin2bn(serial.data(), serial.size(), nullptr);
  const bool numbered = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(draft.get())) != nullptr;
  BN_free(number);
  X509_NAME* const subject = X509_get_subject_name(draft.get());
  const auto* const text = reinterpret_cast<const unsigned char*>(name.c_str());
  const bool filled =
      numbered && X509_set_version(draft.get(), X509_VERSION_3) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(draft.get()), life.from_s) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(draft.get()), life.until_s) != nullptr &&
      X509_set_pubkey(draft.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1;
  if (!filled) return OpensslError("fill a certificate");
  return draft;
}

bool Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// "DNS:localhost,IP:127.0.0.1". A comma in a host would smuggle in another one.
Result<std::string> AlternativeNames(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    const bool is_address = inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                            inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    const auto is_plain = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '-' || c == '.' || c == '*' || c == '_';
    };
    if (!is_address && (host.empty() || !std::all_of(host.begin(), host.end(), is_plain))) {
      return Fail(Code::kInvalid, "'" + host + "' is neither a host's name nor an IP address");
    }
    names += (names.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + host;
  }
  if (names.empty()) return Fail(Code::kInvalid, "a certificate is for at least one host");
  return names;
}

}  // namespace

Result<KeyPair> MakeAuthority(std::int64_t now_s) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return OpensslError("make a key");
  TIDEMILL_TRY(const CertificatePtr made, Draft("tidemill certificate authority", key.get(),
                                                {now_s - kEarlier, now_s + kAuthorityLife}));
  X509* const own = made.get();
  const bool signed_well = X509_set_issuer_name(own, X509_get_subject_name(own)) == 1 &&
                           Extend(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                           Extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                           Extend(own, own, NID_subject_key_identifier, "hash") &&
                           X509_sign(own, key.get(), EVP_sha256()) > 0;
  if (!signed_well) return OpensslError("sign a certificate");
  return ToPem(own, key.get());
}

Result<KeyPair> MakeServerCertificate(const KeyPair& authority,
                                      const std::vector<std::string>& hosts, std::int64_t now_s) {
  TIDEMILL_TRY(const std::string names, AlternativeNames(hosts));
  TIDEMILL_TRY(const CertificatePtr issuer, ReadCertificate(authority.certificate));
  TIDEMILL_TRY(const KeyPtr issuer_key, ReadKey(authority.key));
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return OpensslError("make a key");
  TIDEMILL_TRY(const CertificatePtr made,
               Draft("tidemill server", key.get(), {now_s - kEarlier, now_s + kServerLife}));
  X509* const own = made.get();
  const bool signed_well =
      X509_set_issuer_name(own, X509_get_subject_name(issuer.get())) == 1 &&
      Extend(own, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      Extend(own, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      Extend(own, issuer.get(), NID_ext_key_usage, "serverAuth") &&
      Extend(own, issuer.get(), NID_subject_key_identifier, "hash") &&
      Extend(own, issuer.get(), NID_authority_key_identifier, "keyid:always") &&
      Extend(own, issuer.get(), NID_subject_alt_name, names) &&
      X509_sign(own, issuer_key.get(), EVP_sha256()) > 0;
  if (!signed_well) return OpensslError("sign a certificate");
  return ToPem(own, key.get());
}

Result<std::int64_t> CertificateExpiry(const std::string& pem) {
  TIDEMILL_TRY(const CertificatePtr certificate, ReadCertificate(pem));
  tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) {
    return Fail(Code::kInvalid, "the certificate does not say when it ends");
  }
  return timegm(&parts);
}

}  // namespace tidemill
