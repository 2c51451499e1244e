// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of net: a server and clients on one loop, and plain sockets on a thread beside it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "net/asio_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop_testing.h"
#include "net/openssl_ptr.h"
#include "net/tls_fixture.h"
#include "net/transport.h"

namespace tidemill {

inline const std::string kEndOfHead = "\r\n\r\n";

// A blocking socket that sends and receives exactly what a test wants, in clear text or through
// TLS. Gives up after ten seconds.
class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {}
  RawSocket(RawSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), ssl_(std::move(other.ssl_)) {}
  ~RawSocket() { Close(); }

  static RawSocket Connect(std::uint16_t port, bool tls = false) {
    RawSocket raw = ConnectPlain(port);
    if (tls) raw.BecomeTls();
    return raw;
  }
  static RawSocket ConnectPlain(std::uint16_t port) {
    RawSocket raw(socket(AF_INET, SOCK_STREAM, 0));
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(raw.fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const int at_once = 1;  // else a second send waits until the first was received
    setsockopt(raw.fd_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    const sockaddr_in to = Loopback(port);
    raw.connected_ = connect(raw.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    return raw;
  }

  // Whether the handshake was done. For odd ones.
  bool Handshake(ssl_ctx_st* context, bool is_server) {
    ssl_.reset(SSL_new(context));
    BIO* const bio = SocketBio(fd_).release();
    SSL_set_bio(ssl_.get(), bio, bio);
    const bool done = (is_server ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get())) == 1;
    ERR_clear_error();
    return done;
  }
  void BecomeTls() {
    static const auto trust = TestAuthority::Common().Trust();
    connected_ = connected_ && Handshake(trust->context().get(), false);
  }
  SSL* ssl() { return ssl_.get(); }

  static RawSocket Listen() {
    RawSocket raw(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in at = Loopback(0);
    EXPECT_EQ(bind(raw.fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(listen(raw.fd_, 10), 0);
    return raw;
  }

  std::uint16_t port() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }

  RawSocket Accept(bool tls = false) {
    RawSocket raw(accept(fd_, nullptr, nullptr));
    static const auto identity = TestAuthority::Common().Identity();
    if (tls) raw.Handshake(identity->context().get(), true);
    return raw;
  }
  bool connected() const { return connected_; }
  void Send(std::string_view bytes) {
    if (bytes.empty()) return;
    if (ssl_) {
      std::size_t sent = 0;
      while (!bytes.empty() && SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) == 1) {
        bytes.remove_prefix(sent);
      }
    } else {
      send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  // In good order.
  void Close() {
    if (fd_ >= 0 && ssl_) SSL_shutdown(ssl_.get());
    Cut();
  }
  // Without the end that TLS has.
  void Cut() {
    ssl_.reset();
    ERR_clear_error();
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  // Closes so that the other side sees a reset.
  void Reset() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    Cut();
  }

  // Reads until `mark` has come, or until the end.
  std::string ReadUntil(std::string_view mark) {
    std::string text;
    char byte = 0;
    while (text.find(mark) == std::string::npos && Receive(&byte)) text += byte;
    return text;
  }
  std::string ReadBytes(std::size_t size) {
    std::string text;
    char byte = 0;
    while (text.size() < size && Receive(&byte)) text += byte;
    return text;
  }
  std::string ReadAll() { return ReadUntil("\1 never"); }

 private:
  bool Receive(char* byte) {
    if (!ssl_) return recv(fd_, byte, 1, 0) == 1;
    std::size_t got = 0;
    return SSL_read_ex(ssl_.get(), byte, 1, &got) == 1;
  }

  static sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  int fd_;
  SslPtr ssl_;
  bool connected_ = false;
};

class HttpFixture : public ::testing::Test {
 protected:
  HttpFixture() { LimitRun(); }

  // Without a handler it echoes: method, path and body.
  void Serve(HttpHandler handler = nullptr) {
    if (!handler) {
      handler = [](HttpRequest request, HttpRespond respond) {
        respond({.content_type = request.content_type,
                 .body = request.method + " " + request.path + " " + request.body});
      };
    }
    if (tls_ && !options_.tls) options_.tls = TestAuthority::Common().Identity();
    server_.emplace(loop_, options_, std::move(handler));
    ASSERT_TRUE(server_->Start());
    NewClient(server_->port());
  }

  void NewClient(std::uint16_t port, const std::string& host = "127.0.0.1") {
    client_.emplace(loop_, OriginOf(port, host), ClientOptions());
  }
  Origin OriginOf(std::uint16_t port, const std::string& host = "127.0.0.1") const {
    return {.host = host, .port = port, .tls = tls_};
  }
  HttpClientOptions ClientOptions() const {
    HttpClientOptions options = client_options_;
    if (tls_ && !options.tls) options.tls = TestAuthority::Common().Trust();
    return options;
  }
  RawSocket Connect() const { return RawSocket::Connect(server_->port(), tls_); }

  Result<HttpResponse> Call(HttpCall call) {
    std::optional<Result<HttpResponse>> result;
    client_->Send(std::move(call), [&](Result<HttpResponse> got) { result = std::move(got); });
    EXPECT_FALSE(result);
    RunUntil([&] { return result.has_value(); });
    return result ? *std::move(result) : Fail(Code::kInternal, "hangs");
  }

  // Runs the loop while `blocking` runs on another thread.
  void RunBeside(std::function<void()> blocking) {
    const auto is_over = std::make_shared<bool>(false);
    std::thread thread([this, is_over, blocking = std::move(blocking)] {
      blocking();
      loop_.Post([is_over] { *is_over = true; });
    });
    RunUntil([&] { return *is_over; });
    thread.join();
  }

  // Sends the bytes on a new connection and gives all that comes back until the server closes it.
  std::string Raw(const std::string& bytes) {
    std::string answer;
    RunBeside([&] {
      RawSocket raw = Connect();
      raw.Send(bytes);
      answer = raw.ReadAll();
    });
    return answer;
  }

  void RunUntil(const std::function<bool()>& is_true) { RunLoopUntil(loop_, is_true); }
  void RunWhatIsReady() { tidemill::RunWhatIsReady(loop_); }

  // Moves the loop's clock, which stands still otherwise from the first call on.
  void Skip(Duration time) {
    loop_.Cancel(hang_timer_);
    loop_.StopClock();
    loop_.Skip(time);
    LimitRun();
  }

  // Ends a Run of the loop that would have no end.
  void LimitRun() {
    hang_timer_ = loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }

  bool tls_ = false;
  AsioLoop loop_;
  TimerId hang_timer_ = TimerId::kNone;
  HttpServerOptions options_;
  HttpClientOptions client_options_;
  std::optional<HttpServer> server_;
  std::optional<HttpClient> client_;
};

// The same tests in clear text and through TLS.
class BothWays : public HttpFixture, public ::testing::WithParamInterface<bool> {
 protected:
  BothWays() { tls_ = GetParam(); }
};

inline std::string WayName(const ::testing::TestParamInfo<bool>& info) {
  return info.param ? "Tls" : "Plain";
}

}  // namespace tidemill
