// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: includes asio and OpenSSL.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include "base/result.h"
#include "net/http.h"
#include "net/openssl_ptr.h"
#include "net/tls.h"

namespace tidemill {

// OpenSSL's way to a socket of ours, which it does not close. Unlike its own one it lets no SIGPIPE
// kill us.
BioPtr SocketBio(int descriptor);

// A message on its way out.
struct Outgoing {
  std::string head;
  std::string body;
  std::size_t sent = 0;

  bool done() const { return sent == head.size() + body.size(); }
};

// The bytes of one connection, in clear text or through TLS; who uses it sees no difference. Loop
// thread only. Nothing here blocks, and an idle connection has no buffers. Its callers wait for the
// socket and then try again, whatever they had tried:
//
//   try ──▶ kDone
//    ▲└───▶ kWantRead, kWantWrite ──wait──▶ try
//    └──────────────────────────────────────┘      kClosed, kFailed: nothing more comes
class Transport {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  enum class Flow : std::uint8_t {
    kDone,
    kWantRead,
    kWantWrite,
    kClosed,  // the other side has ended its sending in good order
    kFailed,  // see reason(); with TLS also an end that may have been cut short by somebody else
  };
  struct Got {
    Flow flow;
    std::size_t bytes = 0;
  };

  explicit Transport(Socket socket) : socket_(std::move(socket)) {}

  Socket& socket() { return socket_; }

  // From here on it is TLS, and Handshake comes first. At most one of the two, on an open socket.
  void BecomeServer(const TlsIdentity& identity);
  void BecomeClient(const TlsTrust& trust, const Origin& origin);
  // Gives TLS up, to say in clear text why.
  void BecomePlain();

  Flow Handshake();
  // What failed was a request in clear text.
  bool met_plain_http() const { return met_plain_http_; }
  // Fills as much of `into` as there is now.
  Got Read(std::span<char> into);
  // Whether a Read would give something, or the end. Takes nothing.
  Flow Peek();
  // Sends as much as the system takes now, and no more than a turn's share. Goes on where it ended.
  // Never kWantRead: that would be a renegotiation, which is refused.
  Flow Write(Outgoing& out);
  // With TLS, says in its own words that nothing more is sent. kWantWrite: try again.
  Flow SayEnd();
  // Says that nothing more is sent.
  void EndSending();
  // Takes what nobody wants to read any more, as it comes from the socket: no Read after it.
  Flow Discard(std::span<char> scratch);
  void Close();

  // Numeric, without the port; empty if it is not known.
  std::string PeerAddress();

  // What a person is told of the last kFailed.
  const std::string& reason() const { return reason_; }

  // Calls back when there is something to read: at most one at a time. Bytes that TLS has taken
  // from the socket already count.
  template <typename Call>
  void WaitToRead(Call call) {
    if (has_more_) {
      boost::asio::post(socket_.get_executor(),
                        [call = std::move(call)]() mutable { call(boost::system::error_code()); });
    } else {
      socket_.async_wait(Socket::wait_read, std::move(call));
    }
  }
  template <typename Call>
  void WaitToWrite(Call call) {
    socket_.async_wait(Socket::wait_write, std::move(call));
  }

 private:
  void BecomeTls(ssl_ctx_st* context);
  bool SaidEnd() const;
  Flow FlowOf(int result);
  std::string UntrustedReason(long verdict) const;
  Got ReadPlain(std::span<char> into, int flags);
  Got ReadTls(std::span<char> into);
  Got WriteSome(std::string_view first, std::string_view rest);

  Socket socket_;
  SslPtr ssl_;             // null: clear text
  std::string authority_;  // of the server that must prove to be it; empty on a server
  std::string reason_;
  bool has_more_ = false;
  bool is_up_ = false;  // TLS has begun and not failed, so that it can be ended in good order
  bool met_plain_http_ = false;
};

}  // namespace tidemill
