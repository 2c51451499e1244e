// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/byte_stream.h"
#include "frame/frame.h"

namespace tidemill::cli {

// One connection to this machine that is carried to a port in an item's container. What one side
// does not take holds the other up. Loop thread only.
class PortTunnel {
 public:
  static constexpr std::size_t kHoldBytes = 256 << 10;
  static constexpr std::size_t kGoOnBytes = 64 << 10;

  // `item` is of OpenItemStream, with a port. `over` is called once, when one of them has ended,
  // and may destroy this.
  PortTunnel(std::unique_ptr<ByteStream> here, std::unique_ptr<ByteStream> item,
             std::function<void()> over);

  PortTunnel(const PortTunnel&) = delete;
  PortTunnel& operator=(const PortTunnel&) = delete;

 private:
  void Give(std::string_view bytes);
  void Take(std::string_view bytes);
  void End();

  const std::unique_ptr<ByteStream> here_;
  const std::unique_ptr<ByteStream> item_;
  const std::function<void()> over_;
  frame::Reader reader_{frame::Reader::Side::kPerson};
};

}  // namespace tidemill::cli
