// SPDX-License-Identifier: Apache-2.0
#include "net/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace tidemill {
namespace {

using Flow = Transport::Flow;

// The longest record of TLS.
constexpr std::size_t kRecordBytes = 16 << 10;

// So long no other connection has its turn; at the speed of memory it is well below a millisecond.
constexpr std::size_t kTurnBytes = 512 << 10;

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK; }

int DescriptorOf(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int SendBytes(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(DescriptorOf(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (WouldBlock() || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int ReceiveBytes(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(DescriptorOf(bio), bytes, static_cast<std::size_t>(size), 0);
  if (got < 0 && (WouldBlock() || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    TIDEMILL_CHECK(made != nullptr);
    BIO_meth_set_write(made, SendBytes);
    BIO_meth_set_read(made, ReceiveBytes);
    BIO_meth_set_ctrl(made, Control);
    return made;
  }();
  return method;
}

bool IsAddress(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// What a person can hold against the word of whoever runs the server: the SHA-256 of its
// certificate, as `openssl x509 -fingerprint -sha256` prints it. Empty if none was shown.
std::string FingerprintPart(const SSL* ssl) {
  const STACK_OF(X509)* const chain = SSL_get0_verified_chain(ssl);  // also one that was refused
  if (chain == nullptr || sk_X509_num(chain) == 0) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(sk_X509_value(chain, 0), EVP_sha256(), digest.data(), &size) != 1) return {};
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text = "; its SHA-256 fingerprint is ";
  for (unsigned i = 0; i < size; ++i) {
    if (i > 0) text += ':';
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace

BioPtr SocketBio(int descriptor) {
  BioPtr bio(BIO_new(SocketMethod()));
  TIDEMILL_CHECK(bio != nullptr);
  BIO_set_data(bio.get(), reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
  BIO_set_init(bio.get(), 1);
  return bio;
}

void Transport::BecomeTls(ssl_ctx_st* context) {
  TIDEMILL_CHECK(ssl_ == nullptr);
  ssl_.reset(SSL_new(context));
  TIDEMILL_CHECK(ssl_ != nullptr);
  BIO* const bio = SocketBio(socket_.native_handle()).release();
  SSL_set_bio(ssl_.get(), bio, bio);  // takes it over
}

void Transport::BecomeServer(const TlsIdentity& identity) {
  BecomeTls(identity.context().get());
  SSL_set_accept_state(ssl_.get());
}

void Transport::BecomeClient(const TlsTrust& trust, const Origin& origin) {
  BecomeTls(trust.context().get());
  authority_ = Authority(origin);
  if (authority_.find(':', authority_.rfind(']') + 1) == std::string::npos) authority_ += ":443";
  SSL_set_connect_state(ssl_.get());
  X509_VERIFY_PARAM* const demands = SSL_get0_param(ssl_.get());
  if (IsAddress(origin.host)) {
    TIDEMILL_CHECK(X509_VERIFY_PARAM_set1_ip_asc(demands, origin.host.c_str()) == 1);
  } else {
    X509_VERIFY_PARAM_set_hostflags(demands, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    TIDEMILL_CHECK(X509_VERIFY_PARAM_set1_host(demands, origin.host.c_str(), 0) == 1);
    TIDEMILL_CHECK(SSL_set_tlsext_host_name(ssl_.get(), origin.host.c_str()) == 1);
  }
}

void Transport::BecomePlain() {
  ssl_.reset();
  has_more_ = false;
  is_up_ = false;
}

// Only after a call on `ssl_` that gave `result` and had an empty list of errors before it.
Flow Transport::FlowOf(int result) {
  const int system = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return Flow::kDone;
    case SSL_ERROR_WANT_READ:
      return Flow::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Flow::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Flow::kClosed;
    case SSL_ERROR_SYSCALL:
      reason_ = system == 0 ? "it was closed without the end that TLS has" : std::strerror(system);
      break;
    default:
      const unsigned long why = ERR_peek_error();
      const long verdict = SSL_get_verify_result(ssl_.get());
      met_plain_http_ = !is_up_ && ERR_GET_REASON(why) == SSL_R_HTTP_REQUEST;
      if (!authority_.empty() && verdict != X509_V_OK) {
        reason_ = UntrustedReason(verdict);
      } else if (!is_up_ && ERR_GET_REASON(why) == SSL_R_WRONG_VERSION_NUMBER) {
        reason_ = "what answers there does not speak TLS";
      } else {
        reason_ = "TLS: " + OpensslReason();
      }
  }
  ERR_clear_error();
  is_up_ = false;
  return Flow::kFailed;
}

std::string Transport::UntrustedReason(long verdict) const {
  const std::string whose = "the certificate of " + authority_;
  const std::string why = X509_verify_cert_error_string(verdict);
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return whose + " is for another host: " + why +
             "; name the server as its certificate does, or give it one for this name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return whose + " is no longer valid: " + why + "; the server needs a new one";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return whose + " is not valid yet: " + why + "; is this machine's clock right?";
    default:
      return whose + " is not trusted: " + why + FingerprintPart(ssl_.get()) +
             "; if it is yours, give its CA with --ca FILE";
  }
}

Flow Transport::Handshake() {
  if (!ssl_) return Flow::kDone;
  ERR_clear_error();
  errno = 0;
  const Flow flow = FlowOf(SSL_do_handshake(ssl_.get()));
  is_up_ = flow == Flow::kDone;
  // A request may have come along with the end of the handshake.
  has_more_ = is_up_ && SSL_has_pending(ssl_.get()) == 1;
  return flow;
}

Transport::Got Transport::Read(std::span<char> into) {
  return ssl_ ? ReadTls(into) : ReadPlain(into, 0);
}

Transport::Got Transport::ReadPlain(std::span<char> into, int flags) {
  while (true) {
    const ssize_t got = ::recv(socket_.native_handle(), into.data(), into.size(), flags);
    if (got > 0) return {Flow::kDone, static_cast<std::size_t>(got)};
    if (got == 0) return {Flow::kClosed};
    if (WouldBlock()) return {Flow::kWantRead};
    if (errno == EINTR) continue;
    reason_ = std::strerror(errno);
    return {Flow::kFailed};
  }
}

Transport::Got Transport::ReadTls(std::span<char> into) {
  std::size_t bytes = 0;
  do {
    std::size_t got = 0;
    ERR_clear_error();
    errno = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data() + bytes, into.size() - bytes, &got);
    const Flow flow = FlowOf(result);
    // An end or an error is found again by the next call.
    has_more_ = flow != Flow::kWantRead;
    if (flow != Flow::kDone) return bytes > 0 ? Got{Flow::kDone, bytes} : Got{flow};
    bytes += got;
    // Without anything of its own, the socket tells when there is more.
    has_more_ = SSL_has_pending(ssl_.get()) == 1;
  } while (has_more_ && bytes < into.size());
  return {Flow::kDone, bytes};
}

Flow Transport::Peek() {
  char first = 0;
  if (!ssl_) return ReadPlain({&first, 1}, MSG_PEEK).flow;
  std::size_t got = 0;
  ERR_clear_error();
  errno = 0;
  const Flow flow = FlowOf(SSL_peek_ex(ssl_.get(), &first, 1, &got));
  has_more_ = flow != Flow::kWantRead;
  return flow;
}

Flow Transport::Write(Outgoing& out) {
  const std::size_t stop = out.sent + kTurnBytes;
  while (!out.done()) {
    if (out.sent >= stop) return Flow::kWantWrite;
    const std::size_t of_head = std::min(out.sent, out.head.size());
    const Got got = WriteSome(std::string_view(out.head).substr(of_head),
                              std::string_view(out.body).substr(out.sent - of_head));
    if (got.flow != Flow::kDone) return got.flow;
    out.sent += got.bytes;
  }
  return Flow::kDone;
}

Transport::Got Transport::WriteSome(std::string_view first, std::string_view rest) {
  if (!ssl_) {
    std::array<iovec, 2> pieces{iovec{const_cast<char*>(first.data()), first.size()},
                                iovec{const_cast<char*>(rest.data()), rest.size()}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    if (sent >= 0) return {Flow::kDone, static_cast<std::size_t>(sent)};
    if (WouldBlock() || errno == EINTR) return {Flow::kWantWrite};
    reason_ = std::strerror(errno);
    return {Flow::kFailed};
  }
  // Head and body go into one record. It is put together in the same way if it has to be repeated,
  // which TLS demands.
  std::array<char, kRecordBytes> record;
  std::string_view bytes = first.empty() ? rest : first;
  if (!first.empty() && !rest.empty()) {
    const std::size_t of_first = first.copy(record.data(), record.size());
    const std::size_t of_rest = rest.copy(record.data() + of_first, record.size() - of_first);
    bytes = {record.data(), of_first + of_rest};
  }
  std::size_t sent = 0;
  ERR_clear_error();
  errno = 0;
  const Flow flow = FlowOf(SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent));
  if (flow != Flow::kWantRead) return {flow, sent};
  reason_ = "TLS: a renegotiation";
  return {Flow::kFailed};
}

Flow Transport::SayEnd() {
  if (!is_up_) return Flow::kDone;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_shutdown(ssl_.get());
  return result >= 0 ? Flow::kDone : FlowOf(result);
}

void Transport::EndSending() {
  if (is_up_ && !SaidEnd()) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

Flow Transport::Discard(std::span<char> scratch) {
  has_more_ = false;
  return ReadPlain(scratch, 0).flow;
}

// Also of one that was moved away.
bool Transport::SaidEnd() const {
  return !ssl_ || (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0;
}

void Transport::Close() {
  // One attempt: who does not hear it sees the connection end.
  if (is_up_ && !SaidEnd()) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  is_up_ = false;
  ssl_.reset();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

std::string Transport::PeerAddress() {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  char text[INET6_ADDRSTRLEN] = "";
  if (getpeername(socket_.native_handle(), any, &size) != 0) return {};
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(any)->sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(any)->sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace tidemill
