// SPDX-License-Identifier: Apache-2.0
#include "cli/port_tunnel.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/byte_stream_testing.h"
#include "frame/stream.h"

namespace tidemill::cli {
namespace {

class PortTunnelTest : public testing::Test {
 protected:
  const std::shared_ptr<PlayedStream> here_ = std::make_shared<PlayedStream>();
  const std::shared_ptr<PlayedStream> item_ = std::make_shared<PlayedStream>();
  int over_ = 0;
  PortTunnel tunnel_{std::make_unique<PlayedByteStream>(here_),
                     std::make_unique<PlayedByteStream>(item_), [this] { ++over_; }};
};

TEST_F(PortTunnelTest, CarriesBytesBothWays) {
  here_->Say("GET /");
  EXPECT_EQ(item_->sent, frame::EncodeGive(0, "GET /"));
  const std::string frames = frame::EncodeOutput(0, "HTTP") + frame::EncodeOutput(0, "/1.1");
  item_->Say(frames.substr(0, 7));
  item_->Say(frames.substr(7));
  EXPECT_EQ(here_->sent, "HTTP/1.1");
}

TEST_F(PortTunnelTest, CutsWhatIsTooLongForAFrame) {
  const std::string much(frame::kStreamBytes + 1, 'x');
  here_->Say(much);
  EXPECT_EQ(item_->sent,
            frame::EncodeGive(0, much.substr(1)) + frame::EncodeGive(0, std::string_view("x")));
}

TEST_F(PortTunnelTest, HoldsUpWhoeverIsTooFast) {
  here_->Say(std::string(PortTunnel::kHoldBytes + 1, 'x'));
  EXPECT_TRUE(here_->held);
  item_->TakeAll();
  EXPECT_FALSE(here_->held);
  for (std::size_t sent = 0; sent <= PortTunnel::kHoldBytes; sent += frame::kStreamBytes) {
    item_->Say(frame::EncodeOutput(0, std::string(frame::kStreamBytes, 'y')));
  }
  EXPECT_TRUE(item_->held);
  here_->TakeAll();
  EXPECT_FALSE(item_->held);
}

TEST_F(PortTunnelTest, EndsWithEither) {
  item_->Say(frame::EncodeOutput(0, "last") + frame::EncodeOver(0, {}));
  EXPECT_EQ(here_->sent, "last");
  EXPECT_TRUE(here_->finished);
  EXPECT_EQ(over_, 1);
}

TEST_F(PortTunnelTest, EndsWithTheConnectionHere) {
  here_->End("closed");
  EXPECT_TRUE(item_->finished);
  EXPECT_EQ(over_, 1);
}

TEST_F(PortTunnelTest, EndsWithWhatIsNoFrame) {
  item_->Say(std::string(64, 'z'));
  EXPECT_TRUE(here_->finished);
  EXPECT_EQ(over_, 1);
}

}  // namespace
}  // namespace tidemill::cli
