// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "net/http_format.h"
#include "net/http_session.h"

namespace tidemill {

using boost::asio::ip::tcp;

Result<void> HttpServer::Impl::Listen() {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(options.address, error);
  if (error) {
    return Fail(Code::kInvalid, "'" + options.address + "' is not an IP address; 127.0.0.1 is one");
  }
  const tcp::endpoint endpoint(address, options.port);
  const std::string where = options.address + " port " + std::to_string(options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(boost::asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  if (!error) port = acceptor.local_endpoint(error).port();
  if (!error) return {};
  boost::system::error_code ignored;
  acceptor.close(ignored);
  if (error == boost::asio::error::address_in_use) {
    return Fail(Code::kUnavailable,
                where + " is in use; stop the program that listens there or choose another port");
  }
  if (error == boost::system::errc::permission_denied) {
    return Fail(Code::kInvalid, where + " is not allowed; choose a port above 1023");
  }
  if (error == boost::system::errc::address_not_available) {
    return Fail(Code::kInvalid, where + " is not an address of this machine");
  }
  return Fail(Code::kUnavailable, "listen on " + where + ": " + error.message());
}

void HttpServer::Impl::Accept() {
  if (!acceptor.is_open()) return;
  acceptor.async_accept(
      [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
        self->OnAccept(error, std::move(socket));
      });
}

void HttpServer::Impl::OnAccept(const boost::system::error_code& error, tcp::socket socket) {
  if (!acceptor.is_open()) return;
  if (error == boost::asio::error::connection_aborted) return Accept();
  if (error) {
    // No descriptors or no memory. The client still waits in the queue, so trying again at once
    // would keep a core busy.
    accept_timer = loop.After(std::chrono::milliseconds(100), [this] { Accept(); });
    return;
  }
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  if (sessions.size() >= options.max_connections) {
    for (const auto& [number, stranger] : strangers) {
      if (stranger->MakeWay()) break;  // and is in this map no more
    }
  }
  if (sessions.size() >= options.max_connections && options.tls) {
    // Whoever it is would understand a reason only after a handshake, which is what costs.
    socket.close(ignored);
  } else if (sessions.size() >= options.max_connections) {
    // One attempt to say why; who does not get it sees a closed connection and comes again as well.
    const HttpResponse page = ErrorPage(503, "too many connections");
    const std::string text = FormatHead(page, Date(), Persistence::kClose) + page.body;
    socket.write_some(boost::asio::buffer(text), ignored);
    socket.shutdown(tcp::socket::shutdown_both, ignored);
  } else {
    const auto session =
        std::make_shared<HttpSession>(shared_from_this(), std::move(socket), ++last_number);
    sessions.insert(session);
    strangers.emplace(last_number, session.get());
    ArmSweep();
    session->Begin();
  }
  Accept();
}

bool HttpServer::Impl::MakeRoom(std::size_t bytes, bool is_known) {
  const auto has_room = [&] {
    return bytes <= options.max_bodies_bytes - bodies_bytes &&
           (is_known || bytes + strangers_bytes <= options.max_strangers_bytes);
  };
  while (!has_room() && !strangers_bodies.empty()) strangers_bodies.begin()->second->DropBody();
  return has_room();
}

void HttpServer::Impl::ArmSweep() {
  if (sweep_timer != TimerId::kNone || sessions.empty() || closed) return;
  // One walk over all connections a second is cheaper than a timer set and cancelled per request.
  // Only very short limits ask for more.
  const auto shortest = std::min(
      {options.header_timeout, options.body_timeout, options.idle_timeout, options.write_timeout});
  const auto period =
      std::clamp(shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
  sweep_timer = loop.After(period, [this] { Sweep(); });
}

void HttpServer::Impl::Sweep() {
  sweep_timer = TimerId::kNone;
  const TimePoint now = loop.Now();
  std::vector<std::shared_ptr<HttpSession>> late;
  for (const auto& session : sessions) {
    if (session->deadline() <= now) late.push_back(session);
  }
  for (const auto& session : late) session->OnDeadline();
  ArmSweep();
}

HttpResponse HttpServer::Impl::ErrorPage(int status, std::string detail) const {
  HttpResponse page;
  if (options.error_page) {
    page = options.error_page(status, std::move(detail));
  } else {
    page.content_type = "text/plain";
    page.body = std::move(detail) + "\n";
  }
  page.status = status;
  if (status == 503) page.headers.emplace_back("Retry-After", "1");
  return page;
}

const std::string& HttpServer::Impl::Date() {
  const TimePoint now = loop.Now();
  if (now < date_until) return date;
  const time_t seconds = time(nullptr);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  // The names of days and months are English, because no process of ours sets a locale.
  date.assign(text.data(), strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
  date_until = now + std::chrono::seconds(1);
  return date;
}

HttpServer::HttpServer(AsioLoop& loop, HttpServerOptions options, HttpHandler handler)
    : impl_(std::make_shared<Impl>(loop, std::move(options), std::move(handler))) {
  TIDEMILL_CHECK(impl_->handler != nullptr);
  // Otherwise a body that is allowed could never be read.
  TIDEMILL_CHECK(impl_->options.max_body_bytes <= impl_->options.max_bodies_bytes);
}

HttpServer::~HttpServer() { Close(); }

Result<void> HttpServer::Start() {
  TIDEMILL_CHECK(!impl_->acceptor.is_open() && !impl_->stopping);
  TIDEMILL_TRY_VOID(impl_->Listen());
  impl_->Accept();
  return {};
}

std::uint16_t HttpServer::port() const { return impl_->port; }

void HttpServer::StopAccepting() {
  impl_->stopping = true;
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  impl_->loop.Cancel(impl_->accept_timer);
  for (const auto& session : impl_->AllSessions()) session->CloseIfIdle();
}

std::size_t HttpServer::connections() const { return impl_->sessions.size(); }

void HttpServer::Close() {
  impl_->closed = true;
  StopAccepting();
  for (const auto& session : impl_->AllSessions()) session->Close();
  impl_->loop.Cancel(impl_->sweep_timer);
}

}  // namespace tidemill
