// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http.h"

struct ssl_ctx_st;  // OpenSSL's

namespace tidemill {

// How both sides of a connection speak TLS: 1.2 and up, nothing that was ever broken, no
// renegotiation, no compression.

// Which files a server shows and signs with, both PEM.
struct TlsFiles {
  std::string certificate;  // the server's own first, then those that lead to its authority
  std::string key;          // without a password: nobody is there to type it
};

// Who a server is: its certificate and key, as its files had them last. Loop thread only.
class TlsIdentity {
 public:
  // kInvalid: a file is missing, or not PEM, or the key belongs to another certificate; the reason
  // names the file.
  static Result<std::shared_ptr<TlsIdentity>> Open(TlsFiles files);

  // Takes the files anew, for the connections that come from now on. kInvalid as above; then what
  // was read before goes on to serve.
  Result<void> Reload();
  // Whether the files are others than those of the last Open or Reload, also a failed one.
  bool FilesChanged() const;
  // When the certificate in use ends, in seconds since 1970.
  std::int64_t expires_s() const { return expires_s_; }

  const std::shared_ptr<ssl_ctx_st>& context() const { return context_; }

 private:
  // What tells one content of the two files from another: also a link that leads elsewhere now.
  using Stamp = std::array<std::int64_t, 8>;

  explicit TlsIdentity(TlsFiles files) : files_(std::move(files)) {}
  Stamp Look() const;

  const TlsFiles files_;
  Stamp stamp_{};
  std::int64_t expires_s_ = 0;
  std::shared_ptr<ssl_ctx_st> context_;
};

// Whom a client believes. Constant, so that thousands of clients may share one.
class TlsTrust {
 public:
  // The authorities of this system: those of SSL_CERT_FILE and SSL_CERT_DIR if one of them is set,
  // else the first bundle that is where some Linux keeps its own. There may be none; then no
  // server is believed.
  static std::shared_ptr<const TlsTrust> System();
  // These and no others. kInvalid: the file cannot be read, or holds no certificate.
  static Result<std::shared_ptr<const TlsTrust>> File(const std::string& path);
  static Result<std::shared_ptr<const TlsTrust>> Pem(const std::string& text);
  // As people say it for these servers: a file, or empty for the system's. Null if there is no file
  // and none of them is https. kInvalid as above.
  static Result<std::shared_ptr<const TlsTrust>> For(const std::vector<Origin>& servers,
                                                     const std::string& path);

  const std::shared_ptr<ssl_ctx_st>& context() const { return context_; }

 private:
  explicit TlsTrust(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}

  const std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace tidemill
