// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/byte_stream.h"
#include "base/result.h"
#include "net/asio_loop.h"

namespace tidemill {

// Listens on 127.0.0.1, for programs of this machine alone. Loop thread only.
class LoopbackListener {
 public:
  // In clear text. Never called from inside Listen.
  using OnStream = std::function<void(std::unique_ptr<ByteStream>)>;

  // kUnavailable: the port is taken. 0: any that is free.
  static Result<std::unique_ptr<LoopbackListener>> Listen(AsioLoop& loop, std::uint16_t port,
                                                          OnStream on_stream);
  // Nobody is let in from here on; streams that there are go on.
  ~LoopbackListener();

  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  std::uint16_t port() const;

 private:
  struct Impl;
  explicit LoopbackListener(std::shared_ptr<Impl> impl);
  // Shared with the accept under way.
  const std::shared_ptr<Impl> impl_;
};

}  // namespace tidemill
