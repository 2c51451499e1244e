// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "agent/slots_testing.h"

namespace tidemill {
namespace {

struct HeardStream : SlotStream {
  void OnBytes(bool, std::string_view bytes) override { heard += bytes; }
  void OnFull(bool) override {}
  void OnEnd(const StreamEnd& an_end) override {
    ++ends;
    end = an_end;
  }
  std::string heard;
  int ends = 0;
  StreamEnd end;
};

class SlotsStreamsTest : public HandSlotsTest {
 protected:
  static ItemKey KeyOf(int item) { return {{}, item}; }
};

TEST_F(SlotsStreamsTest, OnlyTheFirstOfAContainerHasBegun) {
  Want(false, false, 1);
  Run(1);
  Run(2);
  ASSERT_TRUE(slots_.WhereIs(kNeed.job, 1));
  EXPECT_TRUE(slots_.WhereIs(kNeed.job, 1)->begun);
  ASSERT_TRUE(slots_.WhereIs(kNeed.job, 2));
  EXPECT_FALSE(slots_.WhereIs(kNeed.job, 2)->begun);
  EXPECT_EQ(slots_.WhereIs(kNeed.job, 2)->attempt.item, 2);
  EXPECT_FALSE(slots_.WhereIs(kNeed.job, 3));
  EXPECT_FALSE(slots_.WhereIs({kNeed.job.number + 1}, 1));
  engine_.made[0]->End(0);
  EXPECT_FALSE(slots_.WhereIs(kNeed.job, 1));
  EXPECT_TRUE(slots_.WhereIs(kNeed.job, 2)->begun);
}

TEST_F(SlotsStreamsTest, OneWhoseLeaseIsGoneIsNotMeant) {
  Want(false, false, 1);
  Run(1);
  slots_.StopIf(StopWhy::kLeaseGone, [](const ItemKey&) { return true; });
  EXPECT_FALSE(slots_.WhereIs(kNeed.job, 1));
  Run(1);
  ASSERT_TRUE(slots_.WhereIs(kNeed.job, 1));
  EXPECT_FALSE(slots_.WhereIs(kNeed.job, 1)->begun);
}

TEST_F(SlotsStreamsTest, InALoopAllHave) {
  Want(true, false, 1);
  Run(1);
  Run(2);
  EXPECT_TRUE(slots_.WhereIs(kNeed.job, 1)->begun);
  EXPECT_TRUE(slots_.WhereIs(kNeed.job, 2)->begun);
}

TEST_F(SlotsStreamsTest, EachHasItsOwnNumberAndContainer) {
  Want(false, false, 2);
  Run(1);
  Run(2);
  const auto one = std::make_shared<HeardStream>();
  const auto two = std::make_shared<HeardStream>();
  const std::uint64_t first = slots_.OpenStream(KeyOf(1), {}, one);
  const std::uint64_t second = slots_.OpenStream(KeyOf(2), {}, two);
  EXPECT_EQ(slots_.OpenStream(KeyOf(3), {}, one), 0U);
  ASSERT_NE(first, 0U);
  ASSERT_NE(first, second);
  EXPECT_EQ(slots_.StreamContainer(first), engine_.made[0]);
  EXPECT_EQ(slots_.StreamContainer(second), engine_.made[1]);
  engine_.made[1]->events.OnStreamBytes(second, false, "two");
  engine_.made[1]->events.OnStreamBytes(first, false, "of another's");
  EXPECT_EQ(one->heard, "");
  EXPECT_EQ(two->heard, "two");
  EXPECT_EQ(slots_.WhereIs(kNeed.job, 2)->streams, 1U);
}

TEST_F(SlotsStreamsTest, NothingIsToldOfOneThatWasClosed) {
  Want(false, false, 1);
  Run(1);
  const auto heard = std::make_shared<HeardStream>();
  const std::uint64_t number = slots_.OpenStream(KeyOf(1), {}, heard);
  slots_.CloseStream(number);
  EXPECT_TRUE(engine_.made[0]->streams.at(number).closed);
  EXPECT_EQ(slots_.StreamContainer(number), nullptr);
  engine_.made[0]->events.OnStreamBytes(number, false, "late");
  engine_.made[0]->events.OnStreamEnd(number, {});
  slots_.CloseAll();
  RunFor();
  EXPECT_EQ(heard->heard, "");
  EXPECT_EQ(heard->ends, 0);
}

TEST_F(SlotsStreamsTest, AnEndIsToldOnceAndNotFromInside) {
  Want(false, false, 1);
  Run(1);
  const auto ended = std::make_shared<HeardStream>();
  const auto gone = std::make_shared<HeardStream>();
  const std::uint64_t number = slots_.OpenStream(KeyOf(1), {}, ended);
  slots_.OpenStream(KeyOf(1), {}, gone);
  slots_.OpenStream(KeyOf(1), {}, std::make_shared<HeardStream>());  // destroyed at once
  engine_.made[0]->events.OnStreamEnd(number, {.exit = 5});
  EXPECT_EQ(ended->end, StreamEnd{.exit = 5});
  slots_.CloseAll();
  EXPECT_EQ(gone->ends, 0);
  RunFor();
  EXPECT_EQ(gone->ends, 1);
  EXPECT_EQ(gone->end, StreamEnd{.with_item = true});
  EXPECT_EQ(ended->ends, 1);
}

}  // namespace
}  // namespace tidemill
