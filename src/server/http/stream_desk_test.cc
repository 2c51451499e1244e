// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream_desk.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_stream_testing.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

class QuietLog : public Log {
 public:
  std::vector<std::string> events;

 protected:
  void Write(std::string_view, std::string_view event, Fields) override {
    events.emplace_back(event);
  }
};

// One side that has asked, and what it was answered.
struct Side {
  std::optional<HttpResponse> answer;
  std::shared_ptr<HttpPeer> peer = std::make_shared<HttpPeer>();
  std::shared_ptr<PlayedStream> play = std::make_shared<PlayedStream>();

  HttpRespond respond() {
    return [this](HttpResponse response) { answer = std::move(response); };
  }
  // It was told that it is a stream now.
  void Become() {
    ASSERT_TRUE(answer && answer->status == 101);
    answer->on_stream(std::make_unique<PlayedByteStream>(play));
  }
};

class StreamDeskTest : public testing::Test {
 protected:
  void Wait() {
    const auto may_stay = [this](const std::function<void(bool)>& told) {
      ++looks_;
      told(may_stay_);
    };
    desk_.Wait(stream_, {"anna", may_stay}, person_.peer, person_.respond());
  }
  bool Meet() { return desk_.Meet(stream_.session, stream_.id, agent_.respond()); }
  void Join() {
    Wait();
    ASSERT_TRUE(Meet());
    agent_.Become();
    person_.Become();
  }

  // Until nothing is left to do.
  void PassTime() {
    while (loop_.Step()) {
    }
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  QuietLog log_;
  const AskedStream stream_{{1, 2}, {3, 4}, JobId{5}, 6, "{}"};
  Side person_;
  Side agent_;
  bool may_stay_ = true;
  int looks_ = 0;
  std::vector<StreamId> waited_;
  StreamDesk desk_{loop_, log_, [this](StreamId stream) { waited_.push_back(stream); }};
};

TEST_F(StreamDeskTest, JoinsAPersonAndAnAgent) {
  Join();
  person_.play->Say("ls\n");
  EXPECT_EQ(agent_.play->sent, "ls\n");
  agent_.play->Say("a b c\n");
  EXPECT_EQ(person_.play->sent, "a b c\n");
  EXPECT_EQ(log_.events, std::vector<std::string>{"stream.begun"});
  EXPECT_EQ(waited_, std::vector{stream_.id});
}

TEST_F(StreamDeskTest, ThePersonMayBecomeAStreamFirst) {
  Wait();
  ASSERT_TRUE(Meet());
  person_.Become();
  EXPECT_FALSE(person_.play->started);
  agent_.Become();
  EXPECT_TRUE(person_.play->started);
}

TEST_F(StreamDeskTest, TheEndOfOneIsTheEndOfTheOtherAfterAllThatWasSaid) {
  Join();
  agent_.play->Say("bye");
  agent_.play->End("closed");
  EXPECT_EQ(person_.play->sent, "bye");
  EXPECT_TRUE(person_.play->finished);
  EXPECT_TRUE(agent_.play->closed);
  EXPECT_EQ(log_.events.back(), "stream.ended");
}

TEST_F(StreamDeskTest, WhoeverDoesNotReadHoldsTheOtherUp) {
  Join();
  agent_.play->Say(std::string(StreamRelay::kHoldBytes, 'x'));
  EXPECT_FALSE(agent_.play->held);
  agent_.play->Say("x");
  EXPECT_TRUE(agent_.play->held);
  EXPECT_FALSE(person_.play->held);
  person_.play->unsent = StreamRelay::kGoOnBytes + 1;
  person_.play->events.on_sent();
  EXPECT_TRUE(agent_.play->held);
  person_.play->TakeAll();
  EXPECT_FALSE(agent_.play->held);
}

TEST_F(StreamDeskTest, NobodyMeetsWhatNobodyWaitsForOrWhatIsAnothers) {
  EXPECT_FALSE(Meet());
  Wait();
  EXPECT_FALSE(desk_.Meet({9, 9}, stream_.id, agent_.respond()));
  EXPECT_FALSE(desk_.Refuse({9, 9}, stream_.id, "no"));
  EXPECT_FALSE(person_.answer);
  EXPECT_TRUE(Meet());
  EXPECT_FALSE(Meet());  // once
}

TEST_F(StreamDeskTest, ARefusalIsTold) {
  Wait();
  EXPECT_TRUE(desk_.Refuse(stream_.session, stream_.id, "not running"));
  ASSERT_TRUE(person_.answer);
  EXPECT_EQ(person_.answer->status, 409);
  EXPECT_NE(person_.answer->body.find("not running"), std::string::npos);
  EXPECT_EQ(waited_, std::vector{stream_.id});
  EXPECT_FALSE(Meet());
}

TEST_F(StreamDeskTest, AnAgentThatDoesNotComeIsNotWaitedForForEver) {
  Wait();
  PassTime();
  ASSERT_TRUE(person_.answer);
  EXPECT_EQ(person_.answer->status, 503);
  EXPECT_FALSE(Meet());
}

TEST_F(StreamDeskTest, APersonWhoLeavesIsForgotten) {
  Wait();
  person_.peer->gone = true;
  person_.peer->on_gone();
  EXPECT_EQ(waited_, std::vector{stream_.id});
  EXPECT_FALSE(Meet());
  PassTime();
  EXPECT_FALSE(person_.answer);
}

TEST_F(StreamDeskTest, OneThatComesAloneEnds) {
  Wait();
  ASSERT_TRUE(Meet());
  agent_.Become();
  PassTime();
  EXPECT_TRUE(agent_.play->closed);
  person_.Become();  // too late
  EXPECT_TRUE(person_.play->closed);
}

TEST_F(StreamDeskTest, OneWhoMayNoMoreIsOutAtTheNextLook) {
  Join();
  const TimePoint begin = loop_.Now();
  while (looks_ < 3) ASSERT_TRUE(loop_.Step());
  EXPECT_FALSE(person_.play->closed);
  may_stay_ = false;
  PassTime();
  EXPECT_EQ(looks_, 4);
  EXPECT_TRUE(person_.play->closed);
  EXPECT_TRUE(agent_.play->closed);
  EXPECT_EQ(loop_.Now() - begin, 4 * StreamDesk::kLookTime);
}

TEST_F(StreamDeskTest, AServerThatStopsEndsAll) {
  Join();
  Side late;
  const AskedStream another{{7, 7}, {3, 4}, JobId{5}, 7, "{}"};
  desk_.Wait(another, {"bert", {}}, late.peer, late.respond());
  desk_.EndAll();
  EXPECT_TRUE(person_.play->closed);
  EXPECT_TRUE(agent_.play->closed);
  ASSERT_TRUE(late.answer);
  EXPECT_EQ(late.answer->status, 503);
}

TEST_F(StreamDeskTest, TakesSoManyAtATime) {
  std::vector<Side> sides(StreamDesk::kMost);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    EXPECT_FALSE(desk_.full());
    const AskedStream one{{8, i}, {3, 4}, JobId{5}, 7, "{}"};
    desk_.Wait(one, {"carl", {}}, sides[i].peer, sides[i].respond());
  }
  EXPECT_TRUE(desk_.full());
  desk_.EndAll();
  EXPECT_FALSE(desk_.full());
}

}  // namespace
}  // namespace tidemill
