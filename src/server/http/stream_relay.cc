// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream_relay.h"

#include <utility>

namespace tidemill {

StreamRelay::StreamRelay(std::unique_ptr<ByteStream> one, std::unique_ptr<ByteStream> other,
                         std::function<void(const std::string& reason)> over)
    : one_(std::move(one)), other_(std::move(other)), over_(std::move(over)) {
  one_->Start(Way(*one_, *other_));
  other_->Start(Way(*other_, *one_));
}

ByteStream::Events StreamRelay::Way(ByteStream& from, ByteStream& to) {
  return {.on_bytes =
              [&from, &to](std::string_view bytes) {
                to.Send(bytes);
                if (to.unsent() > kHoldBytes) from.Hold(true);
              },
          // Something of what came from the other side has gone out here.
          .on_sent =
              [&from, &to] {
                if (from.unsent() < kGoOnBytes) to.Hold(false);
              },
          .on_end =
              [this, &to](const std::string& reason) {
                to.Finish();
                const auto over = over_;  // it may destroy us
                over(reason);
              }};
}

}  // namespace tidemill
