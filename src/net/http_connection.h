// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: includes asio.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "base/loop.h"
#include "net/asio_loop_impl.h"
#include "net/http_client.h"
#include "net/http_parser.h"
#include "net/transport.h"
#include "net/unix_address.h"

namespace tidemill {

class HttpConnection;

// A call from Send or Upgrade until `done`. Shared by the client and its timer.
struct HttpPending {
  using Done = std::function<void(Result<HttpClient::Upgraded>)>;

  HttpCall call;
  Outgoing out;  // the call's body is in it
  Done done;
  bool is_upgrade = false;
  TimerId timer = TimerId::kNone;
  HttpConnection* connection = nullptr;  // none: it waits in the queue
  bool sent = false;                     // at least in part
  bool retried = false;
};

// One connection of a client. Loop thread only.
//
//   connecting (with TLS: and its handshake) ──▶ busy ◀──▶ idle        any of them ──▶ closed
//
// One that becomes a stream gives its transport away, and is closed by that.
//
// Held by the client until it is closed, and by each asio operation under way.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  explicit HttpConnection(HttpClient::Impl& client);

  // Connects, then carries the call. To be called first, and once.
  void Open(std::shared_ptr<HttpPending> pending);
  // When idle.
  void Carry(std::shared_ptr<HttpPending> pending);
  // The client hears nothing more of it.
  void Close();

  bool idle() const { return state_ == State::kIdle; }
  TimePoint idle_since() const { return idle_since_; }

 private:
  enum class State { kConnecting, kBusy, kIdle, kClosed };

  void Resolve();
  void AskResolver();
  void OpenUnix();
  using Protocol = Transport::Socket::protocol_type;  // TCP or a Unix socket
  void ConnectAllowed(const std::vector<boost::asio::ip::tcp::endpoint>& endpoints);
  void Connect(const std::vector<Protocol::endpoint>& endpoints);
  void Handshake();
  void PassOn();
  void Write();
  void WriteMore();
  void Wait();
  void WaitToWrite();
  // Waits for what the transport has asked for; false if it has not.
  bool WaitIfAsked(Transport::Flow flow);
  void OnReadable();
  void Consume(std::string_view bytes);
  // The server has ended the connection, in good order or not.
  void OnEnd(Transport::Flow flow);
  void Deliver(bool may_go_on);
  void BecomeStream(std::string early);
  void Break(std::string reason);
  void BreakSoon(Error error);
  void End(Error error);

  // Loop thread only.
  HttpClient::Impl* client_;  // null when closed
  Transport transport_;
  std::optional<boost::asio::ip::tcp::resolver> resolver_;  // only for names
  std::optional<UnixAddress> address_;                      // only while connecting to one
  State state_ = State::kConnecting;
  TimePoint idle_since_{};
  bool waiting_ = false;
  bool waiting_to_write_ = false;
  bool writing_ = false;
  bool write_failed_ = false;
  bool served_one_ = false;
  // Of the call under way.
  std::shared_ptr<HttpPending> pending_;
  std::optional<ResponseParser> parser_;
  std::string unused_;  // read and not yet used; bounded by the header limit and one read
  bool got_bytes_ = false;
};

struct HttpClient::Impl {
  Impl(AsioLoop& a_loop, Origin an_origin, HttpClientOptions some_options);

  // Gives waiting calls to idle connections, or to new ones while there may be more.
  void Pump();
  void OpenFor(std::shared_ptr<HttpPending> pending);
  // Null if it was malformed, and then fails soon.
  std::shared_ptr<HttpPending> Begin(HttpCall call, HttpPending::Done done);
  // Never from inside Send.
  void FailSoon(const std::shared_ptr<HttpPending>& pending, Error error);
  // A connection ended; `pending` is what it carried, or null.
  void OnEnded(HttpConnection& connection, std::shared_ptr<HttpPending> pending, Error error);
  // May a call that got no answer be sent again?
  void OnStale(HttpConnection& connection, std::shared_ptr<HttpPending> pending);
  void OnAnswer(HttpConnection& connection, std::shared_ptr<HttpPending> pending,
                HttpClient::Upgraded answer);
  void OnTimeout(const std::shared_ptr<HttpPending>& pending);
  // Last thing to do in any function: `done` may destroy the client.
  void Finish(const std::shared_ptr<HttpPending>& pending, Result<HttpClient::Upgraded> result);
  void Remove(HttpConnection& connection);
  void ArmIdleTimer();
  void CloseIdle();

  // Constant after construction.
  AsioLoop& loop;
  const Origin origin;
  HttpClientOptions options;

  // Loop thread only.
  std::unordered_set<std::shared_ptr<HttpPending>> calls;  // all that are not done
  std::deque<std::shared_ptr<HttpPending>> queue;          // those of them without a connection
  std::vector<std::shared_ptr<HttpConnection>> connections;
  std::vector<std::shared_ptr<HttpConnection>> upgrading;  // each carries one call and no other
  // How many streams there are. Shared with them, because they may outlive the client.
  const std::shared_ptr<std::size_t> streams = std::make_shared<std::size_t>(0);
  TimerId idle_timer = TimerId::kNone;
};

}  // namespace tidemill
