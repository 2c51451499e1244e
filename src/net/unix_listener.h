// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "net/asio_loop.h"

namespace tidemill {

// Somebody who connected, as the kernel knows them.
struct UnixPeer {
  Fd socket;
  pid_t pid = 0;  // as seen from here; 0 if it is not in our namespace
  uid_t uid = 0;
};

// A Unix socket that anybody who reaches its folder may connect to. Loop thread only.
class UnixListener {
 public:
  using OnPeer = std::function<void(UnixPeer)>;

  // Makes the socket; the path may be of any length, and nothing may be there. `on_peer` is never
  // called from inside, and may destroy the listener.
  static Result<std::unique_ptr<UnixListener>> Listen(AsioLoop& loop, const std::string& path,
                                                      OnPeer on_peer);
  // The file of the socket stays.
  ~UnixListener();

 private:
  struct Impl;
  explicit UnixListener(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;
};

}  // namespace tidemill
