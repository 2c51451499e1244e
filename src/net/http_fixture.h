// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of net: a server and clients on one loop, and plain sockets on a thread beside it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "net/asio_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace tidemill {

// A blocking socket that sends and receives exactly what a test wants. Gives up after ten seconds.
class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {}
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawSocket() { Close(); }

  static RawSocket Connect(std::uint16_t port) {
    RawSocket raw(socket(AF_INET, SOCK_STREAM, 0));
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(raw.fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const sockaddr_in to = Loopback(port);
    raw.connected_ = connect(raw.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    return raw;
  }

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

  RawSocket Accept() { return RawSocket(accept(fd_, nullptr, nullptr)); }
  bool connected() const { return connected_; }
  void Send(std::string_view bytes) { send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  // Closes so that the other side sees a reset.
  void Reset() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    Close();
  }

  // Reads until `mark` has come, or until the end.
  std::string ReadUntil(std::string_view mark) {
    std::string text;
    char byte = 0;
    while (text.find(mark) == std::string::npos && recv(fd_, &byte, 1, 0) == 1) text += byte;
    return text;
  }
  std::string ReadBytes(std::size_t size) {
    std::string text(size, '\0');
    text.resize(recv(fd_, text.data(), size, MSG_WAITALL) < 0 ? 0 : size);
    return text;
  }
  std::string ReadAll() { return ReadUntil("\1 never"); }

 private:
  static sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  int fd_;
  bool connected_ = false;
};

class HttpFixture : public ::testing::Test {
 protected:
  HttpFixture() {
    loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }

  // Without a handler it echoes: method, path and body.
  void Serve(HttpHandler handler = nullptr) {
    if (!handler) {
      handler = [](HttpRequest request, HttpRespond respond) {
        respond({.content_type = request.content_type,
                 .body = request.method + " " + request.path + " " + request.body});
      };
    }
    server_.emplace(loop_, options_, std::move(handler));
    ASSERT_TRUE(server_->Start());
    client_.emplace(loop_, Origin{"127.0.0.1", server_->port()}, client_options_);
  }

  Result<HttpResponse> Call(HttpCall call) {
    std::optional<Result<HttpResponse>> result;
    client_->Send(std::move(call), [&](Result<HttpResponse> got) {
      result = std::move(got);
      loop_.Stop();
    });
    EXPECT_FALSE(result);
    loop_.Run();
    return result ? *std::move(result) : Fail(Code::kInternal, "hangs");
  }

  // Runs the loop while `blocking` runs on another thread.
  void RunBeside(std::function<void()> blocking) {
    std::thread thread([this, blocking = std::move(blocking)] {
      blocking();
      loop_.Post([this] { loop_.Stop(); });
    });
    loop_.Run();
    thread.join();
  }

  // Sends the bytes on a new connection and gives all that comes back until the server closes it.
  std::string Raw(const std::string& bytes) {
    std::string answer;
    RunBeside([&] {
      RawSocket raw = RawSocket::Connect(server_->port());
      raw.Send(bytes);
      answer = raw.ReadAll();
    });
    return answer;
  }

  // Runs the loop until `is_true`, looked at again and again.
  void RunUntil(std::function<bool()> is_true) {
    if (is_true()) return;
    std::function<void()> look = [&] {
      if (is_true()) return loop_.Stop();
      loop_.After(std::chrono::milliseconds(1), look);
    };
    look();
    loop_.Run();
    EXPECT_TRUE(is_true());
  }

  AsioLoop loop_;
  HttpServerOptions options_;
  HttpClientOptions client_options_;
  std::optional<HttpServer> server_;
  std::optional<HttpClient> client_;
};

}  // namespace tidemill
