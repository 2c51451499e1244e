// SPDX-License-Identifier: Apache-2.0
// Streams of people into what an agent runs.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent_test.h"
#include "agent/hand_engine.h"
#include "agent/stream_book.h"
#include "agent/stream_testing.h"
#include "wire/stream_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Strings = std::vector<std::string>;

constexpr JobId kStreamedJob{1};

class AgentStreamsTest : public AgentTest {
 protected:
  ~AgentStreamsTest() override { agent_.reset(); }  // its containers are the engine's

  void StartByHand(const std::string& document, AgentOptions options = {}) {
    link_.documents[kStreamedJob] = document;
    options.machine = "m1";
    options.shape = {4000, 8LL << 30, CountDevices(options.devices)};
    AgentDeps deps{loop_, link_, hand_, random_, log_, logs_, memory_};
    deps.streams = &streams_;
    agent_ = std::make_unique<Agent>(deps, options);
    agent_->Start();
    RunFor(seconds(60));  // a sync is due at once if the begin of time is long ago
  }
  // One item after the other, in one container.
  void StartOne(AgentOptions options = {}) {
    StartByHand(R"({"command":["true"],"resources":{"cpus":4}})", std::move(options));
  }
  void StartLoop() {
    StartByHand(R"({"command":["serve"],"mode":"loop","env":{"A":"b"},"resources":{"cpus":4}})");
  }

  StreamId Ask(std::int64_t item, const std::string& ask) {
    const StreamId id{7, ++last_};
    link_.streams.push_back({id, {}, kStreamedJob, item, ask});
    link_.waits(true);
    RunFor(milliseconds(200));
    return id;
  }
  StreamId Ask(std::int64_t item, const StreamAsk& ask = {}) {
    return Ask(item, FormatStreamAsk(ask));
  }
  PlayedStream& PersonOf(StreamId id) { return *streams_.people.at(id); }
  // The only container, and its last stream.
  HandEngine::Made& made() { return *hand_.made.at(0); }
  std::uint64_t number() { return made().streams.rbegin()->first; }
  HandEngine::Stream& stream() { return made().streams.at(number()); }

  HandEngine hand_{loop_};
  TestStreamLink streams_{loop_};
  std::uint64_t last_ = 0;
};

bool Has(const Strings& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

TEST_F(AgentStreamsTest, IsTakenUpOnceHoweverOftenItIsTold) {
  Grants(1, 0, 3);
  StartOne();
  const StreamId id = Ask(0);
  RunFor(seconds(300));
  EXPECT_EQ(streams_.connects, std::vector<StreamId>{id});
  EXPECT_EQ(made().streams.size(), 1U);
  EXPECT_EQ(streams_.last_pass.token, "token");
  EXPECT_TRUE(PersonOf(id).started);
  EXPECT_FALSE(PersonOf(id).closed);
}

TEST_F(AgentStreamsTest, AShellHasTheEnvironmentOfItsItem) {
  link_.secrets = {{"key", "hidden-value"}};
  Grants(1, 5, 1);
  StartByHand(R"({"command":["true"],"env":{"A":"b","TERM":"dumb"},
                  "secrets":[{"name":"key","env":"KEY"}],"resources":{"cpus":4}})");
  Ask(5, {.terminal = true, .rows = 50, .columns = 132, .term = "xterm-256color"});
  const StreamStart& start = stream().start;
  EXPECT_EQ(start.port, 0);
  EXPECT_EQ(start.command, ShellCommand());
  EXPECT_TRUE(start.terminal);
  EXPECT_EQ(start.rows, 50);
  EXPECT_EQ(start.columns, 132);
  Strings env = made().runs.at(0).env;
  ASSERT_TRUE(Has(env, "KEY=hidden-value"));
  EXPECT_EQ(std::erase(env, "TERM=dumb"), 1U);
  env.push_back("TERM=xterm-256color");
  EXPECT_EQ(start.env, env);
}

TEST_F(AgentStreamsTest, AProgramAndAPortAreAsTheyWereAskedFor) {
  Grants(1, 0, 1);
  StartOne();
  Ask(0, {.command = {"ls", "-l"}});
  EXPECT_EQ(stream().start.command, (Strings{"ls", "-l"}));
  EXPECT_FALSE(stream().start.terminal);
  EXPECT_EQ(stream().start.env, made().runs.at(0).env);
  Ask(0, {.port = 8888});
  EXPECT_EQ(stream().start.port, 8888);
  EXPECT_EQ(stream().start.command, Strings{});
  EXPECT_EQ(stream().start.env, Strings{});
}

TEST_F(AgentStreamsTest, KnowsTheDevicesOfItsItemAndHasANumberOfItsLife) {
  Grants(1, 0, 1);
  AgentOptions options;
  options.devices = {{"nvidia.com/gpu", "/dev/nvidia0"}};
  options.run = 3;
  StartByHand(R"({"command":["true"],"resources":{"cpus":1,"devices":{"nvidia.com/gpu":1}}})",
              options);
  Ask(0);
  EXPECT_TRUE(Has(stream().start.env, "TIDEMILL_DEVICES=/dev/nvidia0"));
  EXPECT_EQ(stream().start.env, made().runs.at(0).env);
  EXPECT_EQ(number(), (std::uint64_t{3} << 32) + 1);
}

TEST_F(AgentStreamsTest, InALoopItHasTheEnvironmentOfTheProgram) {
  Grants(1, 0, 3);
  StartLoop();
  ASSERT_EQ(made().runs.size(), 3U);
  Ask(2);
  EXPECT_EQ(stream().start.env, made().program.env);
  EXPECT_TRUE(Has(stream().start.env, "A=b"));
}

TEST_F(AgentStreamsTest, IsRefusedForAnItemThatDoesNotRunHere) {
  Grants(1, 0, 2);
  StartOne();
  const StreamId other = Ask(50);
  EXPECT_EQ(streams_.refused[other], "item 50 is not running on this machine (any more)");
  const StreamId waits = Ask(1);
  EXPECT_EQ(streams_.refused[waits],
            "item 1 has not begun yet: it waits behind others on its machine");
  made().End(0);
  const StreamId ended = Ask(0);
  EXPECT_EQ(streams_.refused[ended], "item 0 is not running on this machine (any more)");
  EXPECT_EQ(streams_.refused.size(), 3U);
  EXPECT_TRUE(streams_.connects.empty());
}

TEST_F(AgentStreamsTest, IsRefusedForAnItemWhoseLeaseIsGone) {
  Grants(1, 0, 1);
  StartOne();
  link_.to_drop = {LeaseId{1, 1}};
  const StreamId id = Ask(0);
  ASSERT_EQ(made().runs.size(), 1U);  // it has not ended yet
  EXPECT_EQ(streams_.refused[id], "item 0 is not running on this machine (any more)");
}

TEST_F(AgentStreamsTest, IsRefusedWhereItIsNotAllowed) {
  Grants(1, 0, 1);
  AgentOptions options;
  options.streams = false;
  StartOne(options);
  const StreamId id = Ask(0);
  EXPECT_EQ(streams_.refused[id],
            "streams are not allowed on this machine (tidemill-agent --no-shell)");
  EXPECT_TRUE(streams_.connects.empty());
}

TEST_F(AgentStreamsTest, IsRefusedIfItCannotBeRead) {
  Grants(1, 0, 1);
  StartOne();
  const StreamId id = Ask(0, "no JSON");
  EXPECT_FALSE(streams_.refused[id].empty());
}

TEST_F(AgentStreamsTest, NothingComesOfOneThatNobodyWaitsForAnyMore) {
  Grants(1, 0, 1);
  StartOne();
  streams_.error = Error{Code::kNotFound, "nobody waits"};
  Ask(0);
  EXPECT_TRUE(made().streams.empty());
  EXPECT_EQ(log_.CountOf("stream.not_connected"), 1);
}

TEST_F(AgentStreamsTest, BytesGoBothWaysAndNotIntoTheLog) {
  Grants(1, 0, 1);
  StartOne();
  PlayedStream& person = PersonOf(Ask(0));
  const std::string give = frame::EncodeGive(0, "ls\n");
  person.Say(give.substr(0, 5));
  EXPECT_TRUE(stream().input.empty());
  person.Say(give.substr(5) + frame::EncodeResize(0, {.rows = 9, .columns = 8}));
  person.Say(frame::EncodeGive(0, ""));
  EXPECT_EQ(stream().input, (Strings{"ls\n", ""}));
  EXPECT_EQ(stream().start.rows, 9);
  EXPECT_EQ(stream().start.columns, 8);
  const std::string much(100'000, 'x');
  made().events.OnStreamBytes(number(), false, "out");
  made().events.OnStreamBytes(number(), true, "err");
  made().events.OnStreamBytes(number(), false, much);
  const PersonSaw saw = SawBy(person);
  EXPECT_EQ(saw.output, "out" + much);
  EXPECT_EQ(saw.errors, "err");
  EXPECT_FALSE(saw.over || saw.broken);
  EXPECT_EQ(logs_.text.count(0), 0U);
}

TEST_F(AgentStreamsTest, AContainerWaitsForAPersonWhoDoesNotTakeIt) {
  Grants(1, 0, 1);
  StartOne();
  PlayedStream& person = PersonOf(Ask(0));
  made().events.OnStreamBytes(number(), false, std::string(200 * 1024, 'x'));
  EXPECT_EQ(stream().holds, std::vector<bool>{});
  made().events.OnStreamBytes(number(), false, std::string(100 * 1024, 'x'));
  made().events.OnStreamBytes(number(), false, "what was on its way");
  EXPECT_EQ(stream().holds, std::vector<bool>{true});
  person.unsent = 64 * 1024;
  person.events.on_sent();
  EXPECT_EQ(stream().holds, std::vector<bool>{true});
  person.unsent = 64 * 1024 - 1;
  person.events.on_sent();
  person.TakeAll();
  EXPECT_EQ(stream().holds, (std::vector<bool>{true, false}));
}

TEST_F(AgentStreamsTest, AContainerThatDoesNotWaitLosesTheStream) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  const std::string much(1024 * 1024, 'x');
  for (int i = 0; i < 8; ++i) made().events.OnStreamBytes(number(), false, much);
  EXPECT_TRUE(person.closed);
  EXPECT_TRUE(stream().closed);
  made().events.OnStreamBytes(number(), false, "more");
  EXPECT_EQ(made().runs.size(), 1U);
}

TEST_F(AgentStreamsTest, APersonWaitsForAContainerThatIsFull) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  made().events.OnStreamFull(number(), true);
  EXPECT_TRUE(person.held);
  made().events.OnStreamFull(number(), false);
  EXPECT_FALSE(person.held);
}

TEST_F(AgentStreamsTest, APersonHearsHowItEnded) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  made().events.OnStreamBytes(number(), false, "bye");
  made().events.OnStreamEnd(number(), {.exit = 3});
  EXPECT_EQ(SawBy(person).output, "bye");
  EXPECT_EQ(SawBy(person).over, frame::Over{.exit = 3});
  EXPECT_TRUE(person.finished);
  EXPECT_FALSE(stream().closed);  // it has ended by itself
  EXPECT_EQ(made().runs.size(), 1U);
}

TEST_F(AgentStreamsTest, EndsWhenItsContainerIsGone) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  made().events.OnGone("killed");
  RunFor(milliseconds(1));
  EXPECT_EQ(SawBy(person).over, frame::Over{.with_item = true});
  EXPECT_TRUE(person.finished);
}

TEST_F(AgentStreamsTest, EndsWithTheItemOfAContainerOfItsOwn) {
  Grants(1, 0, 1);
  StartByHand(R"({"command":["true"],"mode":"container","resources":{"cpus":4}})");
  const PlayedStream& person = PersonOf(Ask(0));
  made().End(0);
  RunFor(seconds(1));
  EXPECT_EQ(SawBy(person).over, frame::Over{.with_item = true});
  EXPECT_TRUE(person.finished);
  EXPECT_EQ(link_.outcomes.at(0)[0].cause, Cause::kSucceeded);
}

TEST_F(AgentStreamsTest, EndsIfItsItemHasEndedWhileItWasConnected) {
  Grants(1, 0, 1);
  StartOne();
  streams_.while_connecting = [this] { made().End(0); };
  const PlayedStream& person = PersonOf(Ask(0));
  EXPECT_TRUE(made().streams.empty());
  EXPECT_EQ(SawBy(person).over, frame::Over{.with_item = true});
  EXPECT_TRUE(person.finished);
}

TEST_F(AgentStreamsTest, IsClosedWhenThePersonLeaves) {
  Grants(1, 0, 1);
  StartOne();
  PlayedStream& person = PersonOf(Ask(0));
  person.End("closed");
  EXPECT_TRUE(stream().closed);
  made().events.OnStreamBytes(number(), false, "for nobody");
  made().events.OnStreamEnd(number(), {});
  EXPECT_TRUE(person.sent.empty());
}

TEST_F(AgentStreamsTest, WhatIsNoFrameClosesIt) {
  Grants(1, 0, 1);
  StartOne();
  const Strings garbage = {"GET / HTTP/1.1\r\n\r\n", frame::EncodeStop(1),
                           frame::EncodeOutput(0, "of the other side"), frame::EncodeGive(1, "x")};
  for (const std::string& bytes : garbage) {
    PlayedStream& person = PersonOf(Ask(0));
    person.Say(bytes);
    EXPECT_TRUE(person.closed);
    EXPECT_FALSE(person.finished);
    EXPECT_TRUE(stream().closed);
    EXPECT_TRUE(stream().input.empty());
  }
  EXPECT_EQ(made().streams.size(), garbage.size());
}

TEST_F(AgentStreamsTest, OneThatWasForgottenIsClosedAfterHalfADay) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  link_.streams.clear();
  RunFor(std::chrono::hours(12) - seconds(1));
  EXPECT_FALSE(person.closed);
  RunFor(seconds(1));
  EXPECT_TRUE(person.closed);
  EXPECT_TRUE(stream().closed);
  EXPECT_EQ(made().runs.size(), 1U);
}

TEST_F(AgentStreamsTest, AMachineHasSoManyAndNoMore) {
  Grants(1, 0, 4);
  StartByHand(R"({"command":["true"],"resources":{"cpus":1}})");
  ASSERT_EQ(hand_.made.size(), 4U);
  std::vector<StreamId> ids;
  for (std::int64_t i = 0; i < 64; ++i) ids.push_back(Ask(i % 4));
  EXPECT_TRUE(streams_.refused.empty());
  const StreamId more = Ask(0);
  EXPECT_EQ(streams_.refused[more], "64 streams are open on its machine already");
  PersonOf(ids[9]).End("closed");
  const StreamId next = Ask(0);
  EXPECT_FALSE(streams_.refused.contains(next));
  EXPECT_TRUE(PersonOf(next).started);
}

TEST_F(AgentStreamsTest, AContainerHasSoManyAndNoMore) {
  Grants(1, 0, 1);
  StartOne();
  for (std::size_t i = 0; i < frame::kStreamsMost; ++i) Ask(0);
  EXPECT_TRUE(streams_.refused.empty());
  const StreamId more = Ask(0);
  EXPECT_EQ(streams_.refused[more], "32 streams are open into its container already");
}

TEST_F(AgentStreamsTest, DoesNotHoldAnAgentThatLeaves) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  made().End(0, ItemEnd::How::kStopped);
  RunFor(seconds(1));
  EXPECT_TRUE(left);
  EXPECT_TRUE(hand_.made.empty());
  EXPECT_EQ(SawBy(person).over, frame::Over{.with_item = true});
  EXPECT_TRUE(person.finished);
}

TEST_F(AgentStreamsTest, AnAgentThatIsDestroyedLeavesNothingBehind) {
  Grants(1, 0, 1);
  StartOne();
  const PlayedStream& person = PersonOf(Ask(0));
  agent_.reset();
  EXPECT_TRUE(person.closed);
  RunFor(seconds(1));
}

}  // namespace
}  // namespace tidemill
