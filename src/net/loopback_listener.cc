// SPDX-License-Identifier: Apache-2.0
#include "net/loopback_listener.h"

#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include "net/asio_loop_impl.h"
#include "net/transport_stream.h"

namespace tidemill {

using boost::asio::ip::tcp;

// The process is out of descriptors or memory for a moment.
constexpr auto kRest = std::chrono::milliseconds(100);

struct LoopbackListener::Impl : std::enable_shared_from_this<Impl> {
  Impl(AsioLoop& a_loop, OnStream an_on_stream)
      : loop(a_loop), on_stream(std::move(an_on_stream)), acceptor(a_loop.impl().io) {}

  void Accept() {
    acceptor.async_accept(
        [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
          if (!self->acceptor.is_open()) return;
          if (error) {
            self->loop.After(kRest, [self] {
              if (self->acceptor.is_open()) self->Accept();
            });
            return;
          }
          self->Take(std::move(socket));
          self->Accept();
        });
  }

  void Take(tcp::socket socket) {
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.set_option(tcp::no_delay(true), ignored);
    const auto stream =
        std::make_shared<TransportStream>(loop, Transport(std::move(socket)), "", [] {});
    on_stream(stream->Handle());
  }

  AsioLoop& loop;
  const OnStream on_stream;
  tcp::acceptor acceptor;
};

LoopbackListener::LoopbackListener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

LoopbackListener::~LoopbackListener() {
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
}

Result<std::unique_ptr<LoopbackListener>> LoopbackListener::Listen(AsioLoop& loop,
                                                                   std::uint16_t port,
                                                                   OnStream on_stream) {
  auto impl = std::make_shared<Impl>(loop, std::move(on_stream));
  const tcp::endpoint place(boost::asio::ip::address_v4::loopback(), port);
  boost::system::error_code error;
  impl->acceptor.open(place.protocol(), error);
  if (!error) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) impl->acceptor.bind(place, error);
  if (!error) impl->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) {
    return Fail(Code::kUnavailable, "port " + std::to_string(port) + " of 127.0.0.1 cannot be " +
                                        "listened on: " + error.message());
  }
  impl->Accept();
  return std::unique_ptr<LoopbackListener>(new LoopbackListener(std::move(impl)));
}

std::uint16_t LoopbackListener::port() const {
  boost::system::error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

}  // namespace tidemill
