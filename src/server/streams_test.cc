// SPDX-License-Identifier: Apache-2.0
#include "server/streams.h"

#include "server/server_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

AskedStream StreamOf(std::uint64_t id, SessionId session) {
  return {{9, id}, session, {7}, 0, "{}"};
}

TEST(AskedStreams, KeepsOneThatAPollUnderWayDidNotKnow) {
  AskedStreams streams;
  const SessionId session{1, 1};
  streams.Add(StreamOf(1, session));
  streams.Use({});
  EXPECT_EQ(streams.Tell(session).size(), 1u);
  streams.Use({});
  EXPECT_TRUE(streams.Tell(session).empty());
}

TEST(AskedStreams, WakesUntilTheAgentIsToldButNotWithoutEnd) {
  AskedStreams streams;
  const SessionId told{1, 1}, silent{1, 2};
  const std::vector<AskedStream> asked = {StreamOf(1, told), StreamOf(2, silent)};
  streams.Use(asked);
  EXPECT_EQ(streams.ToWake(), (std::set<SessionId>{told, silent}));
  EXPECT_EQ(streams.Tell(told), std::vector<AskedStream>{asked[0]});
  for (int i = 0; i < AskedStreams::kWakes; ++i) {
    streams.Use(asked);
    EXPECT_EQ(streams.ToWake(), std::set<SessionId>{silent});
    streams.Woken(silent);
  }
  EXPECT_TRUE(streams.ToWake().empty());
  // Whoever syncs hears of it as long as it lasts.
  EXPECT_EQ(streams.Tell(silent), std::vector<AskedStream>{asked[1]});
  EXPECT_EQ(streams.Tell(told), std::vector<AskedStream>{asked[0]});
}

TEST(AskedStreams, ForgetsOneThatHasEnded) {
  AskedStreams streams;
  streams.Use({StreamOf(1, {1, 1}), StreamOf(2, {1, 1})});
  streams.End({9, 1});
  EXPECT_EQ(streams.Tell({1, 1}), std::vector<AskedStream>{StreamOf(2, {1, 1})});
}

class StreamsTest : public ServerTest {
 protected:
  // An agent that runs the one item of a job, and one that has nothing.
  void Begin() {
    job_ = SubmitRange(1);
    holder_ = Join();
    other_ = Join();
    ASSERT_EQ(Sync(SyncOf(holder_))->grants.size(), 1u);
    ASSERT_TRUE(Sync(SyncOf(other_)));
  }
  void LetBothWait() {
    server_.Wait(PassOf(holder_), seconds(25), [this](Result<bool> now) { woken_ += *now; });
    server_.Wait(PassOf(other_), seconds(25), [this](Result<bool> now) { others_ += *now; });
  }
  Result<AskedStream> Ask(std::int64_t item) {
    return Await<AskedStream>([&](Reply<AskedStream> reply) {
      server_.AskStream(job_, item, R"({"port":80})", std::move(reply));
    });
  }
  std::vector<AskedStream> Told(SessionId session) { return Sync(SyncOf(session))->streams; }

  JobId job_;
  SessionId holder_, other_;
  int woken_ = 0, others_ = 0;
};

TEST_F(StreamsTest, AreToldAtOnceToWhoRunsTheItem) {
  Begin();
  LetBothWait();
  const Result<AskedStream> asked = Ask(0);
  ASSERT_TRUE(asked) << asked.error().reason;
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(*asked, (AskedStream{asked->id, holder_, job_, 0, R"({"port":80})"}));
  EXPECT_EQ(Told(holder_), std::vector<AskedStream>{*asked});
  EXPECT_TRUE(Told(other_).empty());
  EXPECT_EQ(others_, 0);
}

TEST_F(StreamsTest, AreDifferentEachTime) {
  Begin();
  EXPECT_NE(Ask(0)->id, Ask(0)->id);
  EXPECT_EQ(Told(holder_).size(), 2u);
}

TEST_F(StreamsTest, AskedForElsewhereAreToldWithTheNextPoll) {
  Begin();
  LetBothWait();
  ASSERT_TRUE(store_.AskStream({{5, 5}, job_, 0, "{}", seconds(30)}));
  RunFor(seconds(1));
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(others_, 0);
  EXPECT_EQ(Told(holder_), (std::vector<AskedStream>{{{5, 5}, holder_, job_, 0, "{}"}}));
  EXPECT_TRUE(Told(other_).empty());
  // It knows, and is left alone.
  LetBothWait();
  RunFor(seconds(5));
  EXPECT_EQ(woken_, 1);
}

TEST_F(StreamsTest, AreToldToAnAgentThatBeganToWaitTooLateToBeWoken) {
  Begin();
  ASSERT_TRUE(Ask(0));
  RunFor(seconds(5));
  LetBothWait();
  RunFor(seconds(1));
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(others_, 0);
}

TEST_F(StreamsTest, AreOverAfterTheirTime) {
  Begin();
  ASSERT_TRUE(Ask(0));
  RunFor(Server::kStreamTime - seconds(1));
  EXPECT_EQ(Told(holder_).size(), 1u);
  RunFor(seconds(2));
  EXPECT_TRUE(Told(holder_).empty());
}

TEST_F(StreamsTest, ThatNobodyWaitsForAnyMoreAreNotTold) {
  Begin();
  const Result<AskedStream> asked = Ask(0);
  ASSERT_TRUE(asked);
  server_.EndStream(asked->id);
  RunFor(seconds(1));
  EXPECT_TRUE(store_.ReadChange()->streams.empty());
  EXPECT_TRUE(Told(holder_).empty());
}

TEST_F(StreamsTest, ThatCannotBeAreRefusedWithTheReason) {
  Begin();
  EXPECT_EQ(Ask(1).error().code, Code::kNotFound);
  SyncRequest last = SyncOf(holder_);
  last.leaving = true;
  ASSERT_TRUE(Sync(last));
  EXPECT_EQ(Ask(0).error().reason, "item 0 waits for its turn");
}

}  // namespace
}  // namespace tidemill
