// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace tidemill {

// A connection that carries bytes both ways, in order. Loop thread only. Its end closes it.
class ByteStream {
 public:
  struct Events {
    std::function<void(std::string_view)> on_bytes;  // valid during the call
    // Something unsent has gone out: unsent() is less than it was.
    std::function<void()> on_sent = [] {};
    // The other side has closed, or the stream broke. Comes at most once, and is the last call.
    std::function<void(const std::string& reason)> on_end;
  };

  virtual ~ByteStream() = default;
  // Begins to read. Once; nothing is called from inside, and nothing after Close or the end of this
  // object. Each may close or destroy the stream.
  virtual void Start(Events events) = 0;
  // What the other side does not take at once waits here, without a limit: see unsent(). Bytes for
  // a stream that has ended are dropped.
  virtual void Send(std::string_view bytes) = 0;
  virtual std::size_t unsent() const = 0;
  // While it holds nothing is read, so that the other side has to wait.
  virtual void Hold(bool hold) = 0;
  // Sends what is unsent, for some seconds at most, and then closes. No event comes from here on;
  // it goes on after the end of this object.
  virtual void Finish() = 0;
  // Drops what is unsent.
  virtual void Close() = 0;
};

}  // namespace tidemill
