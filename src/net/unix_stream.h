// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "net/asio_loop.h"

namespace tidemill {

// One end of a connected stream socket. Loop thread only.
class UnixStream {
 public:
  using OnBytes = std::function<void(std::string_view)>;  // valid during the call
  using OnEnd = std::function<void(const std::string& reason)>;

  UnixStream(AsioLoop& loop, Fd socket);
  // Closes it.
  ~UnixStream();

  UnixStream(const UnixStream&) = delete;
  UnixStream& operator=(const UnixStream&) = delete;

  // Begins to read; nothing is called from inside, and nothing after Close. `on_end` comes at most
  // once, when the other side has closed or the stream broke, and is the last call. Both may close
  // or destroy the stream.
  void Start(OnBytes on_bytes, OnEnd on_end);
  // What the other side does not take at once waits here, without a limit: see unsent(). Bytes for
  // a stream that has ended are dropped.
  void Send(std::string_view bytes);
  std::size_t unsent() const;
  // Drops what is unsent.
  void Close();

 private:
  struct Impl;
  // Shared with the operations of asio under way.
  const std::shared_ptr<Impl> impl_;
};

}  // namespace tidemill
