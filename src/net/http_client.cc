// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/http_connection.h"
#include "net/http_format.h"
#include "net/http_stream.h"

namespace tidemill {
namespace {

Result<void> CheckCall(const HttpCall& call) {
  const bool is_method = IsSafeField(call.method, "");
  if (!is_method) return Fail(Code::kInvalid, "malformed method");
  const bool is_target =
      call.target.starts_with('/') && std::all_of(call.target.begin(), call.target.end(),
                                                  [](char c) { return c > ' ' && c < 127; });
  if (!is_target) return Fail(Code::kInvalid, "the target must begin with '/' and be encoded");
  if (!IsSafeField("Content-Type", call.content_type)) {
    return Fail(Code::kInvalid, "malformed content type");
  }
  for (const auto& [name, value] : call.headers) {
    if (!IsSafeField(name, value)) return Fail(Code::kInvalid, "malformed header field " + name);
  }
  return {};
}

}  // namespace

HttpClient::Impl::Impl(AsioLoop& a_loop, Origin an_origin, HttpClientOptions some_options)
    : loop(a_loop), origin(std::move(an_origin)), options(std::move(some_options)) {
  TIDEMILL_CHECK(options.max_connections > 0);
  if (origin.tls && !options.tls) options.tls = TlsTrust::System();
}

void HttpClient::Impl::Pump() {
  while (!queue.empty()) {
    // The one used last is the least likely to have been closed by the server.
    std::shared_ptr<HttpConnection> best;
    for (const auto& connection : connections) {
      if (!connection->idle()) continue;
      if (!best || best->idle_since() < connection->idle_since()) best = connection;
    }
    if (!best && connections.size() >= options.max_connections) return;
    auto pending = std::move(queue.front());
    queue.pop_front();
    if (best) {
      best->Carry(std::move(pending));
    } else {
      OpenFor(std::move(pending));
    }
  }
}

void HttpClient::Impl::OpenFor(std::shared_ptr<HttpPending> pending) {
  connections.push_back(std::make_shared<HttpConnection>(*this));
  connections.back()->Open(std::move(pending));
}

std::shared_ptr<HttpPending> HttpClient::Impl::Begin(HttpCall call, HttpPending::Done done) {
  const auto pending = std::make_shared<HttpPending>();
  pending->call = std::move(call);
  pending->done = std::move(done);
  calls.insert(pending);
  auto checked = CheckCall(pending->call);
  if (!checked) {
    FailSoon(pending, std::move(checked).error());
    return nullptr;
  }
  pending->out.head = FormatHead(pending->call, origin);
  pending->out.body = std::move(pending->call.body);
  pending->timer = loop.After(pending->call.timeout, [this, pending] { OnTimeout(pending); });
  return pending;
}

void HttpClient::Impl::FailSoon(const std::shared_ptr<HttpPending>& pending, Error error) {
  loop.Cancel(pending->timer);
  pending->timer = loop.After(Duration::zero(), [this, pending, error = std::move(error)] {
    Finish(pending, tl::unexpected<Error>(error));
  });
}

void HttpClient::Impl::OnEnded(HttpConnection& connection, std::shared_ptr<HttpPending> pending,
                               Error error) {
  Remove(connection);
  Pump();
  if (pending) Finish(pending, tl::unexpected<Error>(std::move(error)));
}

void HttpClient::Impl::OnStale(HttpConnection& connection, std::shared_ptr<HttpPending> pending) {
  if (pending->retried) {
    return OnEnded(connection, std::move(pending),
                   Error{Code::kUnknown, "the server closed the connection without an answer"});
  }
  Remove(connection);
  pending->retried = true;
  pending->out.sent = 0;
  // A new one, and not another idle one: that may be as stale.
  OpenFor(std::move(pending));
}

void HttpClient::Impl::OnAnswer(HttpConnection& connection, std::shared_ptr<HttpPending> pending,
                                HttpClient::Upgraded answer) {
  if (connection.idle()) {
    ArmIdleTimer();
  } else {
    Remove(connection);
  }
  Pump();
  Finish(pending, std::move(answer));
}

void HttpClient::Impl::OnTimeout(const std::shared_ptr<HttpPending>& pending) {
  const Code code = pending->sent ? Code::kUnknown : Code::kUnavailable;
  std::string reason = pending->sent ? "no whole answer in time" : "no connection in time";
  if (auto* const connection = pending->connection) {
    connection->Close();
    Remove(*connection);
  } else {
    queue.erase(std::remove(queue.begin(), queue.end(), pending), queue.end());
  }
  Pump();
  Finish(pending, Fail(code, std::move(reason)));
}

void HttpClient::Impl::Finish(const std::shared_ptr<HttpPending>& pending,
                              Result<HttpClient::Upgraded> result) {
  const HttpPending::Done done = std::move(pending->done);
  loop.Cancel(pending->timer);
  calls.erase(pending);
  done(std::move(result));
}

void HttpClient::Impl::Remove(HttpConnection& connection) {
  const auto is_it = [&connection](const auto& each) { return each.get() == &connection; };
  std::erase_if(connections, is_it);
  std::erase_if(upgrading, is_it);
}

void HttpClient::Impl::ArmIdleTimer() {
  if (idle_timer != TimerId::kNone) return;
  idle_timer = loop.After(options.idle_timeout, [this] { CloseIdle(); });
}

void HttpClient::Impl::CloseIdle() {
  idle_timer = TimerId::kNone;
  const TimePoint now = loop.Now();
  std::erase_if(connections, [&](const auto& connection) {
    if (!connection->idle() || now - connection->idle_since() < options.idle_timeout) return false;
    connection->Close();
    return true;
  });
  const auto is_idle = [](const auto& connection) { return connection->idle(); };
  if (std::any_of(connections.begin(), connections.end(), is_idle)) ArmIdleTimer();
}

HttpClient::HttpClient(AsioLoop& loop, Origin origin, HttpClientOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(origin), std::move(options))) {}

HttpClient::~HttpClient() {
  impl_->loop.Cancel(impl_->idle_timer);
  for (const auto& connection : impl_->connections) connection->Close();
  for (const auto& connection : impl_->upgrading) connection->Close();
  for (const auto& pending : impl_->calls) impl_->loop.Cancel(pending->timer);
}

void HttpClient::Send(HttpCall call, Done done) {
  const auto pending =
      impl_->Begin(std::move(call), [done = std::move(done)](Result<Upgraded> got) {
        got ? done(std::move(got->answer)) : done(tl::unexpected<Error>(std::move(got).error()));
      });
  if (!pending) return;
  impl_->queue.push_back(pending);
  impl_->Pump();
  if (impl_->queue.size() <= impl_->options.max_queued) return;
  impl_->queue.pop_back();
  impl_->FailSoon(pending, {Code::kExhausted, "too many calls wait for a connection"});
}

void HttpClient::Upgrade(HttpCall call, std::function<void(Result<Upgraded>)> done) {
  call.headers.emplace_back("Connection", "upgrade");
  call.headers.emplace_back("Upgrade", kStreamProtocol);
  const auto pending = impl_->Begin(std::move(call), std::move(done));
  if (!pending) return;
  if (impl_->upgrading.size() + *impl_->streams >= impl_->options.max_streams) {
    return impl_->FailSoon(pending, {Code::kExhausted, "too many streams to one server"});
  }
  pending->is_upgrade = true;
  impl_->upgrading.push_back(std::make_shared<HttpConnection>(*impl_));
  impl_->upgrading.back()->Open(pending);
}

std::size_t HttpClient::connections() const { return impl_->connections.size(); }

}  // namespace tidemill
