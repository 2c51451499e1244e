// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "net/asio_loop.h"

namespace tidemill {

// Reads a descriptor of this process, such as its standard input: a terminal, a pipe, a file,
// /dev/null. Loop thread only. The descriptor is not owned and its flags stay as they are, because
// they may be shared with the program that started us. It must not be closed before this object
// ends.
class FdReader {
 public:
  using OnBytes = std::function<void(std::string_view)>;  // valid during the call
  // There is nothing more, or it cannot be read. Comes at most once, and is the last call.
  using OnEnd = std::function<void()>;

  // Begins to read; nothing is called from inside. Each may destroy the reader.
  FdReader(AsioLoop& loop, int fd, OnBytes on_bytes, OnEnd on_end);
  // Nothing is called from here on.
  ~FdReader();

  FdReader(const FdReader&) = delete;
  FdReader& operator=(const FdReader&) = delete;

  // While it holds nothing is read, and no end is seen.
  void Hold(bool hold);

 private:
  struct Impl;
  // Shared with the operations of asio under way.
  const std::shared_ptr<Impl> impl_;
};

}  // namespace tidemill
