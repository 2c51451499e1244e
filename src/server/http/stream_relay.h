// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/byte_stream.h"

namespace tidemill {

// Carries the bytes of two streams from each to the other, and ends both when one ends. What one
// side does not take holds the other up. Loop thread only.
class StreamRelay {
 public:
  // Of what one side has not taken: a screen is some KiB, a fast download some round trips.
  static constexpr std::size_t kHoldBytes = 256 << 10;
  static constexpr std::size_t kGoOnBytes = 64 << 10;

  // `over` is called once, when one of them has ended, and may destroy the relay. What was read of
  // the one goes out to the other all the same.
  StreamRelay(std::unique_ptr<ByteStream> one, std::unique_ptr<ByteStream> other,
              std::function<void(const std::string& reason)> over);

  StreamRelay(const StreamRelay&) = delete;
  StreamRelay& operator=(const StreamRelay&) = delete;

 private:
  // Reads `from` and sends it to `to`.
  ByteStream::Events Way(ByteStream& from, ByteStream& to);

  const std::unique_ptr<ByteStream> one_;
  const std::unique_ptr<ByteStream> other_;
  const std::function<void(const std::string&)> over_;
};

}  // namespace tidemill
