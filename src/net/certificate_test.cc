// SPDX-License-Identifier: Apache-2.0
#include "net/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <gtest/gtest.h>

#include "net/openssl_ptr.h"

namespace tidemill {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;

CertificatePtr Read(const std::string& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return CertificatePtr(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

TEST(Certificate, OfAServerNamesItsHostsAndIsSignedByItsAuthority) {
  const auto authority = MakeAuthority(kNow);
  ASSERT_TRUE(authority) << authority.error().reason;
  const auto server = MakeServerCertificate(*authority, {"a.example", "127.0.0.1", "::1"}, kNow);
  ASSERT_TRUE(server) << server.error().reason;
  const CertificatePtr ca = Read(authority->certificate);
  const CertificatePtr own = Read(server->certificate);
  EXPECT_EQ(X509_check_ca(ca.get()), 1);
  EXPECT_EQ(X509_check_ca(own.get()), 0);
  EXPECT_EQ(X509_check_issued(ca.get(), own.get()), X509_V_OK);
  EXPECT_EQ(X509_verify(own.get(), X509_get0_pubkey(ca.get())), 1);
  EXPECT_EQ(X509_check_host(own.get(), "a.example", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(own.get(), "b.example", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(own.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(own.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(own.get(), "127.0.0.2", 0), 0);
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(own.get())), 256);
}

TEST(Certificate, SaysWhenItEnds) {
  const auto authority = MakeAuthority(kNow);
  const auto server = MakeServerCertificate(*authority, {"a"}, kNow);
  EXPECT_EQ(*CertificateExpiry(authority->certificate), kNow + 3'652 * kDay);
  EXPECT_EQ(*CertificateExpiry(server->certificate), kNow + 825 * kDay);
  EXPECT_EQ(CertificateExpiry(server->key).error().code, Code::kInvalid);
  EXPECT_FALSE(CertificateExpiry(""));
}

TEST(Certificate, NamesNoHostThatIsNone) {
  const auto authority = MakeAuthority(kNow);
  for (const char* host : {"", "a,DNS:b", "a b", "a\n", "[::1]"}) {
    EXPECT_EQ(MakeServerCertificate(*authority, {host}, kNow).error().code, Code::kInvalid) << host;
  }
  EXPECT_FALSE(MakeServerCertificate(*authority, {}, kNow));
  EXPECT_FALSE(MakeServerCertificate({}, {"a"}, kNow));
}

}  // namespace
}  // namespace tidemill
