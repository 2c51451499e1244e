// SPDX-License-Identifier: Apache-2.0
#include "server/http/gate.h"

#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

class GateTest : public testing::Test {
 protected:
  void Enter(const std::shared_ptr<HttpPeer>& peer = std::make_shared<HttpPeer>()) {
    gate_.Pass<int>(
        peer, [this](Reply<int> done) { started_.push_back(std::move(done)); },
        [this](const Result<int>& result) {
          if (result) {
            ++answered_;
          } else {
            EXPECT_EQ(result.error().code, Code::kExhausted);
            ++refused_;
          }
        });
  }

  // By a copy: finishing one may start another, which moves them.
  void Finish(std::size_t i) {
    const Reply<int> done = started_[i];
    done(1);
  }

  Gate gate_{{.under_way = 2, .waiting = 3}};
  std::vector<Reply<int>> started_;
  int answered_ = 0;
  int refused_ = 0;
};

TEST_F(GateTest, LetsSoManyThroughAndRefusesWhatIsTooMuch) {
  for (int i = 0; i < 7; ++i) Enter();
  EXPECT_EQ(started_.size(), 2u);
  EXPECT_EQ(refused_, 2);
  EXPECT_FALSE(gate_.idle());
  Finish(0);
  EXPECT_EQ(started_.size(), 3u);
  for (std::size_t i = 1; i < started_.size(); ++i) Finish(i);
  EXPECT_EQ(answered_, 5);
  EXPECT_TRUE(gate_.idle());
}

TEST_F(GateTest, ACallWhosePeerHasGoneIsNotMade) {
  const auto gone = std::make_shared<HttpPeer>();
  Enter();
  Enter();
  Enter(gone);
  Enter();
  gone->gone = true;
  Finish(0);
  EXPECT_EQ(started_.size(), 3u);
  Finish(1);
  Finish(2);
  EXPECT_EQ(answered_, 3);
  EXPECT_TRUE(gate_.idle());
}

TEST(Gate, ALongQueueThatIsAnsweredOnTheSpotIsNoDeepStack) {
  Gate gate({.under_way = 1, .waiting = 200'000});
  const auto peer = std::make_shared<HttpPeer>();
  Reply<int> first;
  int answered = 0;
  const auto count = [&](const Result<int>&) { ++answered; };
  gate.Pass<int>(peer, [&](Reply<int> done) { first = std::move(done); }, count);
  for (int i = 0; i < 200'000; ++i) {
    gate.Pass<int>(peer, [](const Reply<int>& done) { done(1); }, count);
  }
  first(1);
  EXPECT_EQ(answered, 200'001);
  EXPECT_TRUE(gate.idle());
}

}  // namespace
}  // namespace tidemill
