// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/check.h"
#include "net/certificate.h"
#include "net/openssl_ptr.h"

namespace tidemill {
namespace {

// Bundles of a whole system have some 250 KB.
constexpr std::size_t kFileBytes = 16 << 20;

// Forward secrecy and authenticated encryption. TLS 1.3 has no others.
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

constexpr std::array<const char*, 5> kBundles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL, Amazon Linux
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer RHEL
    "/etc/ssl/cert.pem",                                  // Alpine
};

std::shared_ptr<SSL_CTX> NewContext(const SSL_METHOD* method) {
  // Our programs are static and run anywhere: no file of the machine may change what TLS is.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  TIDEMILL_CHECK(context != nullptr);
  TIDEMILL_CHECK(SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1);
  TIDEMILL_CHECK(SSL_CTX_set_cipher_list(context.get(), kTls12Ciphers) == 1);
  // Connections live long, so that resuming them would save little, and its keys are one more
  // secret.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // An idle connection keeps no buffers; a write may be done in parts and repeated from a copy.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One call of the system for a record instead of two.
  SSL_CTX_set_read_ahead(context.get(), 1);
  return context;
}

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(Code::kInvalid, "cannot read " + path + ": " + std::strerror(errno));
  std::string text;
  std::array<char, 16 << 10> piece{};
  while (file && text.size() <= kFileBytes) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  // A folder opens, but cannot be read.
  if (file.bad() || text.empty()) return Fail(Code::kInvalid, path + " is empty, or no file");
  if (text.size() > kFileBytes) return Fail(Code::kInvalid, path + " is too long");
  return text;
}

// Nobody types a password here; without this OpenSSL would ask on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Result<void> UseKey(SSL_CTX* context, const std::string& text, const TlsFiles& files) {
  const BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (!key) {
    return Fail(Code::kInvalid, files.key + " holds no private key in PEM, or one with a password");
  }
  const bool fits =
      SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  if (fits) return {};
  return Fail(Code::kInvalid, "the key in " + files.key +
                                  " does not belong to the certificate in " + files.certificate);
}

Result<void> UseChain(SSL_CTX* context, const std::string& text, const TlsFiles& files) {
  const BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const CertificatePtr own(PEM_read_bio_X509_AUX(bio.get(), nullptr, NoPassword, nullptr));
  if (!own) return Fail(Code::kInvalid, files.certificate + " holds no certificate in PEM");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {
    return Fail(Code::kInvalid,
                "the certificate in " + files.certificate + " cannot be used: " + OpensslReason());
  }
  while (true) {
    CertificatePtr next(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (!next) break;
    // Takes it over.
    TIDEMILL_CHECK(SSL_CTX_add0_chain_cert(context, next.release()) == 1);
  }
  const unsigned long why = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_GET_REASON(why) == PEM_R_NO_START_LINE) return {};
  return Fail(Code::kInvalid, files.certificate + " has a certificate that cannot be read");
}

std::shared_ptr<SSL_CTX> NewTrustContext() {
  auto context = NewContext(TLS_client_method());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // Who is told to believe an authority in the middle of a chain need not know those above it.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  return context;
}

// How many certificates of the text are believed from here on.
int AddAll(SSL_CTX* context, const std::string& text) {
  const BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  int count = 0;
  while (true) {
    const CertificatePtr each(PEM_read_bio_X509_AUX(bio.get(), nullptr, NoPassword, nullptr));
    if (!each) break;
    if (X509_STORE_add_cert(store, each.get()) == 1) ++count;
  }
  ERR_clear_error();
  return count;
}

const char* Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::Open(TlsFiles files) {
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity(std::move(files)));
  TIDEMILL_TRY_VOID(identity->Reload());
  return identity;
}

Result<void> TlsIdentity::Reload() {
  // Before the reading: what changes during it is seen as changed afterwards.
  stamp_ = Look();
  ERR_clear_error();
  TIDEMILL_TRY(const std::string chain, ReadText(files_.certificate));
  TIDEMILL_TRY(const std::string key, ReadText(files_.key));
  const auto context = NewContext(TLS_server_method());
  TIDEMILL_TRY_VOID(UseChain(context.get(), chain, files_));
  TIDEMILL_TRY_VOID(UseKey(context.get(), key, files_));
  TIDEMILL_TRY(expires_s_, CertificateExpiry(chain));
  context_ = context;
  return {};
}

bool TlsIdentity::FilesChanged() const { return Look() != stamp_; }

TlsIdentity::Stamp TlsIdentity::Look() const {
  Stamp stamp{};
  std::size_t at = 0;
  for (const std::string* path : {&files_.certificate, &files_.key}) {
    struct stat info{};
    if (::stat(path->c_str(), &info) == 0) {
      stamp[at] = static_cast<std::int64_t>(info.st_ino);
      stamp[at + 1] = info.st_mtim.tv_sec;
      stamp[at + 2] = info.st_mtim.tv_nsec;
      stamp[at + 3] = info.st_size;
    }
    at += 4;
  }
  return stamp;
}

std::shared_ptr<const TlsTrust> TlsTrust::System() {
  auto context = NewTrustContext();
  const char* const file = Variable("SSL_CERT_FILE");
  const char* const folder = Variable("SSL_CERT_DIR");
  if (file != nullptr || folder != nullptr) {
    SSL_CTX_load_verify_locations(context.get(), file, folder);
  } else {
    for (const char* const bundle : kBundles) {
      const auto text = ReadText(bundle);
      if (text && AddAll(context.get(), *text) > 0) break;
    }
  }
  ERR_clear_error();
  return std::shared_ptr<const TlsTrust>(new TlsTrust(std::move(context)));
}

Result<std::shared_ptr<const TlsTrust>> TlsTrust::Pem(const std::string& text) {
  auto context = NewTrustContext();
  if (AddAll(context.get(), text) == 0)
    return Fail(Code::kInvalid, "there is no certificate in it");
  return std::shared_ptr<const TlsTrust>(new TlsTrust(std::move(context)));
}

Result<std::shared_ptr<const TlsTrust>> TlsTrust::File(const std::string& path) {
  TIDEMILL_TRY(const std::string text, ReadText(path));
  auto trust = Pem(text);
  if (!trust) return Fail(Code::kInvalid, path + " holds no certificate in PEM");
  return trust;
}

Result<std::shared_ptr<const TlsTrust>> TlsTrust::For(const std::vector<Origin>& servers,
                                                      const std::string& path) {
  if (!path.empty()) return File(path);
  const bool any = std::any_of(servers.begin(), servers.end(), [](auto& each) { return each.tls; });
  return any ? System() : nullptr;
}

}  // namespace tidemill
