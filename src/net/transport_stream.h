// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: includes asio and OpenSSL.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_stream.h"
#include "base/loop.h"
#include "net/asio_loop.h"
#include "net/transport.h"

namespace tidemill {

// A connection that has become a stream. Loop thread only. What its functions do stands at
// ByteStream.
//
//   open ──Finish──▶ finishing ──all is sent──▶ ended ──the other side too──▶ closed
//
// From anywhere it may become closed, and never leaves that; finishing and ended have a limit of
// time together.
//
// Held by its handle, by each asio operation under way, and by the timer of its end.
class TransportStream : public std::enable_shared_from_this<TransportStream> {
 public:
  // `early`: what has come already. `on_closed` comes once, however it came to be closed.
  TransportStream(AsioLoop& loop, Transport transport, std::string early,
                  std::function<void()> on_closed);

  // For the one who uses it; once. Its end closes the stream, unless that finishes.
  std::unique_ptr<ByteStream> Handle();

  void Start(ByteStream::Events events);
  void Send(std::string_view bytes);
  std::size_t unsent() const { return out_.body.size() - out_.sent; }
  void Hold(bool hold);
  void Finish();
  void Close();
  bool open() const { return state_ == State::kOpen; }

 private:
  enum class State : std::uint8_t { kOpen, kFinishing, kEnded, kClosed };

  void LookAfterIt();
  // Makes sure that OnReadable comes, if anything is to be read. At most one wait is under way.
  void Wait();
  void WaitToWrite();
  void OnReadable();
  void Read();
  void Discard();
  void OnWritable();
  void WriteMore();
  void EndSending();
  // Closes it, and tells.
  void End(const std::string& reason);

  // Constant after construction.
  AsioLoop& loop_;

  // Loop thread only.
  Transport transport_;
  std::string early_;
  std::function<void()> on_closed_;
  std::shared_ptr<const ByteStream::Events> events_;  // null: nobody is told of anything
  State state_ = State::kOpen;
  bool held_ = false;
  bool waiting_ = false;
  bool waiting_to_write_ = false;
  bool write_failed_ = false;
  bool other_ended_ = false;  // seen by one that finishes
  Outgoing out_;
  TimerId timer_ = TimerId::kNone;  // of a stream that finishes
};

}  // namespace tidemill
