// SPDX-License-Identifier: Apache-2.0
#include "net/http_stream.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "net/http_fixture.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kAsk =
    "POST / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: tidemill-stream\r\n"
    "Content-Length: 0\r\n\r\n";
const std::string kYes =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: tidemill-stream\r\n\r\n";

// Larger than what the system holds for a connection on its own.
constexpr std::size_t kMuch = 32 << 20;

// One end of a stream, and what has come of it.
struct StreamEar {
  std::unique_ptr<ByteStream> stream;
  std::string got;
  int sent = 0;
  int ends = 0;
  std::string reason;

  void Take(std::unique_ptr<ByteStream> taken) {
    stream = std::move(taken);
    stream->Start({.on_bytes = [this](std::string_view bytes) { got += bytes; },
                   .on_sent = [this] { ++sent; },
                   .on_end =
                       [this](const std::string& why) {
                         ++ends;
                         reason = why;
                       }});
    EXPECT_EQ(got, "");  // not from inside
  }
};

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7919 >> 5);
  return bytes;
}

class HttpStreamTest : public BothWays {
 protected:
  // Every request becomes a stream at once.
  void ServeStreams(bool hold = false) {
    Serve([this, hold](HttpRequest request, HttpRespond respond) {
      EXPECT_TRUE(WantsStream(request));
      respond({.status = 101, .on_stream = [this, hold](std::unique_ptr<ByteStream> stream) {
                 stream->Hold(hold);
                 server_side_.Take(std::move(stream));
               }});
    });
  }

  void Upgrade(StreamEar& ear, HttpCall call = {.method = "POST"}) {
    client_->Upgrade(std::move(call), [&ear](Result<HttpClient::Upgraded> got) {
      ASSERT_TRUE(got) << got.error().reason;
      EXPECT_EQ(got->answer.status, 101);
      ASSERT_TRUE(got->stream);
      ear.Take(std::move(got->stream));
    });
  }

  // A stream from the client to the server, both ends known.
  void Connected() {
    ServeStreams();
    Upgrade(client_side_);
    RunUntil([&] { return client_side_.stream && server_side_.stream; });
  }

  Result<HttpClient::Upgraded> Ask(HttpCall call = {.method = "POST"}) {
    std::optional<Result<HttpClient::Upgraded>> result;
    client_->Upgrade(std::move(call),
                     [&](Result<HttpClient::Upgraded> got) { result = std::move(got); });
    EXPECT_FALSE(result);
    RunUntil([&] { return result.has_value(); });
    return *std::move(result);
  }

  StreamEar server_side_;
  StreamEar client_side_;
};

INSTANTIATE_TEST_SUITE_P(, HttpStreamTest, ::testing::Bool(), WayName);

TEST(WantsStreamTest, NeedsBothFieldsInAnySpelling) {
  const auto wants = [](HttpFields fields) { return WantsStream({.headers = std::move(fields)}); };
  EXPECT_TRUE(wants({{"Connection", "upgrade"}, {"Upgrade", "tidemill-stream"}}));
  EXPECT_TRUE(wants({{"upgrade", "Tidemill-Stream"}, {"CONNECTION", "keep-alive , UpGrade"}}));
  EXPECT_TRUE(wants(
      {{"Connection", "keep-alive"}, {"Connection", "Upgrade"}, {"Upgrade", "tidemill-stream"}}));
  EXPECT_FALSE(wants({}));
  EXPECT_FALSE(wants({{"Connection", "upgrade"}}));
  EXPECT_FALSE(wants({{"Upgrade", "tidemill-stream"}}));
  EXPECT_FALSE(wants({{"Connection", "upgrade"}, {"Upgrade", "websocket"}}));
  EXPECT_FALSE(wants({{"Connection", "upgrades"}, {"Upgrade", "tidemill-stream"}}));
  EXPECT_FALSE(wants({{"Connection", "keep-alive"}, {"Upgrade", "tidemill-stream"}}));
}

TEST_P(HttpStreamTest, CarriesBytesBothWays) {
  Connected();
  const std::string many = Pattern(4 << 20);
  client_side_.stream->Send("to the server");
  server_side_.stream->Send("to the client");
  RunUntil([&] { return server_side_.got.size() >= 13 && client_side_.got.size() >= 13; });
  EXPECT_EQ(server_side_.got, "to the server");
  EXPECT_EQ(client_side_.got, "to the client");
  client_side_.got = server_side_.got = "";
  client_side_.stream->Send(many);
  server_side_.stream->Send(many);
  RunUntil([&] {
    return server_side_.got.size() >= many.size() && client_side_.got.size() >= many.size();
  });
  EXPECT_TRUE(server_side_.got == many);
  EXPECT_TRUE(client_side_.got == many);
  EXPECT_EQ(client_side_.stream->unsent() + server_side_.stream->unsent(), 0u);
  EXPECT_EQ(client_side_.ends + server_side_.ends, 0);
}

TEST_P(HttpStreamTest, IsNotGivenFromInsideOfTheAnswer) {
  bool inside = false;
  bool given = false;
  Serve([&](HttpRequest, HttpRespond respond) {
    inside = true;
    respond({.status = 101, .on_stream = [&](std::unique_ptr<ByteStream>) {
               EXPECT_FALSE(inside);
               given = true;
             }});
    inside = false;
  });
  Upgrade(client_side_);
  RunUntil([&] { return given && client_side_.ends == 1; });
}

TEST_P(HttpStreamTest, MakesTheOtherSideWaitWhileItHolds) {
  Connected();
  server_side_.stream->Hold(true);
  const std::string many = Pattern(kMuch);
  client_side_.stream->Send(many);
  // What goes out goes into the buffers of the system, which are smaller.
  RunWhatIsReady();
  // The other direction is not held.
  server_side_.stream->Send("hello");
  RunUntil([&] { return client_side_.got == "hello"; });
  EXPECT_GT(client_side_.stream->unsent(), 0u);
  EXPECT_EQ(server_side_.got, "");
  server_side_.stream->Hold(false);
  RunUntil([&] { return server_side_.got.size() >= many.size(); });
  EXPECT_TRUE(server_side_.got == many);
  EXPECT_EQ(client_side_.stream->unsent(), 0u);
  EXPECT_GT(client_side_.sent, 0);
}

TEST_P(HttpStreamTest, CanHoldFromTheFirstByteOn) {
  ServeStreams(true);
  Upgrade(client_side_);
  RunUntil([&] { return client_side_.stream && server_side_.stream; });
  client_side_.stream->Send("x");
  RunWhatIsReady();
  EXPECT_EQ(server_side_.got, "");
  server_side_.stream->Hold(false);
  RunUntil([&] { return server_side_.got == "x"; });
}

TEST_P(HttpStreamTest, GivesTheBytesFirstThatCameWithTheHeader) {
  ServeStreams();
  RunBeside([&] {
    RawSocket raw = Connect();
    raw.Send(kAsk + "early ");
    const std::string head = raw.ReadUntil(kEndOfHead);
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
    EXPECT_NE(head.find("Connection: upgrade\r\nUpgrade: tidemill-stream\r\n"), head.npos) << head;
    EXPECT_EQ(head.find("Content-Length"), head.npos) << head;
    raw.Send("and late");
  });
  RunUntil([&] { return server_side_.ends == 1; });
  EXPECT_EQ(server_side_.got, "early and late");
}

TEST_P(HttpStreamTest, AClientGivesTheBytesFirstThatCameWithTheAnswer) {
  RawSocket listener = RawSocket::Listen();
  NewClient(listener.port());
  std::thread server([&] {
    RawSocket raw = listener.Accept(tls_);
    const std::string head = raw.ReadUntil(kEndOfHead);
    EXPECT_NE(head.find("Connection: upgrade\r\nUpgrade: tidemill-stream\r\n"), head.npos) << head;
    raw.Send("HTTP/1.1 100 Continue\r\n\r\n" + kYes + "early ");
    raw.Send("and late");
    raw.Close();
  });
  Upgrade(client_side_);
  RunUntil([&] { return client_side_.ends == 1; });
  server.join();
  EXPECT_EQ(client_side_.got, "early and late");
}

TEST_P(HttpStreamTest, AnyOtherAnswerComesWithoutAStream) {
  Serve([](HttpRequest, HttpRespond respond) { respond({.status = 409, .body = "not now"}); });
  const auto got = Ask();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->answer.status, 409);
  EXPECT_EQ(got->answer.body, "not now");
  EXPECT_FALSE(got->stream);
  EXPECT_EQ(client_->connections(), 0u);
  RunUntil([&] { return server_->connections() == 0; });
}

TEST_P(HttpStreamTest, AChangeToAnotherProtocolIsNoStream) {
  RawSocket listener = RawSocket::Listen();
  NewClient(listener.port());
  for (const std::string field : {"", "Upgrade: websocket\r\n"}) {
    std::thread server([&] {
      RawSocket raw = listener.Accept(tls_);
      raw.ReadUntil(kEndOfHead);
      raw.Send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n" + field + "\r\n");
      raw.ReadAll();
    });
    const auto got = Ask();
    server.join();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kUnknown);
  }
}

TEST_P(HttpStreamTest, OnlyWhoAsksGetsAStream) {
  Serve([](HttpRequest, HttpRespond respond) {
    respond({.status = 101, .on_stream = [](std::unique_ptr<ByteStream>) { FAIL(); }});
  });
  EXPECT_EQ(Call({})->status, 500);
  std::string old = kAsk;
  old.replace(old.find("HTTP/1.1"), 8, "HTTP/1.0");
  EXPECT_TRUE(Raw(old).starts_with("HTTP/1.1 500 "));
  Serve([](HttpRequest, HttpRespond respond) { respond({.status = 101}); });
  EXPECT_EQ(Ask()->answer.status, 500);
}

TEST_P(HttpStreamTest, SeesAClientGoThatWaitsForItsStream) {
  std::vector<std::pair<HttpRequest, HttpRespond>> held;
  Serve([&](HttpRequest request, HttpRespond respond) {
    held.emplace_back(std::move(request), std::move(respond));
  });
  client_->Upgrade({.method = "POST"}, [](auto) { FAIL(); });
  RunUntil([&] { return held.size() == 1; });
  int gone = 0;
  held[0].first.peer->on_gone = [&] { ++gone; };
  client_.reset();
  RunUntil([&] { return gone == 1; });
  held[0].second({.status = 101, .on_stream = [](std::unique_ptr<ByteStream>) { FAIL(); }});
  RunUntil([&] { return server_->connections() == 0; });
  RunWhatIsReady();
}

TEST_P(HttpStreamTest, WaitsForTheAnswerAsLongAsTheCallSays) {
  std::vector<HttpRespond> held;
  Serve([&](HttpRequest, HttpRespond respond) { held.push_back(std::move(respond)); });
  std::optional<Code> code;
  Skip({});
  client_->Upgrade({.method = "POST", .timeout = seconds(10)},
                   [&](Result<HttpClient::Upgraded> got) { code = got.error().code; });
  RunUntil([&] { return held.size() == 1; });
  Skip(milliseconds(9'999));
  RunWhatIsReady();
  EXPECT_FALSE(code);
  Skip(milliseconds(1));
  RunUntil([&] { return code.has_value(); });
  EXPECT_EQ(code, Code::kUnknown);
  RunUntil([&] { return server_->connections() == 0; });
  // And no longer than until then.
  ServeStreams();
  Upgrade(client_side_, {.method = "POST", .timeout = seconds(10)});
  RunUntil([&] { return client_side_.stream && server_side_.stream; });
  Skip(seconds(11));
  RunWhatIsReady();
  EXPECT_EQ(client_side_.ends + server_side_.ends, 0);
}

TEST_P(HttpStreamTest, SaysThatNobodyIsThere) {
  RawSocket listener = RawSocket::Listen();
  const std::uint16_t port = listener.port();
  listener.Close();
  NewClient(port);
  EXPECT_EQ(Ask().error().code, Code::kUnavailable);
  client_options_.may_connect = [](const std::string&) { return false; };
  NewClient(port);
  EXPECT_EQ(Ask().error().code, Code::kForbidden);
  EXPECT_EQ(Ask({.method = "bad method"}).error().code, Code::kInvalid);
}

TEST_P(HttpStreamTest, FinishDeliversEverything) {
  Connected();
  const std::string many = Pattern(kMuch);
  // Bytes that the one who finishes will never read must not cost the other what it was sent.
  server_side_.stream->Hold(true);
  client_side_.stream->Send(Pattern(100'000));
  RunUntil([&] { return client_side_.stream->unsent() == 0; });
  server_side_.stream->Send(many);
  EXPECT_GT(server_side_.stream->unsent(), 0u);
  server_side_.stream->Finish();
  server_side_.stream->Send("too late");
  server_side_.stream.reset();
  RunUntil([&] { return client_side_.ends == 1; });
  EXPECT_TRUE(client_side_.got == many);
  EXPECT_EQ(client_side_.reason, "the other side has closed it");  // with TLS, in its own words
  RunUntil([&] { return server_->connections() == 0; });
  EXPECT_EQ(server_side_.ends, 0);
}

TEST_P(HttpStreamTest, BothMayFinishAtOnceWithMuchUnsent) {
  Connected();
  // So that it is not the limit of FinishDoesNotWaitForEver that ends them.
  Skip({});
  client_side_.stream->Hold(true);
  server_side_.stream->Hold(true);
  for (StreamEar* const ear : {&client_side_, &server_side_}) {
    ear->stream->Send(Pattern(kMuch));
    ear->stream->Finish();
  }
  RunUntil([&] { return server_->connections() == 0; });
}

TEST_P(HttpStreamTest, FinishDoesNotWaitForEver) {
  Connected();
  Skip({});
  client_side_.stream->Hold(true);
  server_side_.stream->Send(Pattern(kMuch));
  server_side_.stream->Finish();
  Skip(milliseconds(4'999));
  RunWhatIsReady();
  EXPECT_EQ(server_->connections(), 1u);
  Skip(milliseconds(1));
  RunUntil([&] { return server_->connections() == 0; });
  EXPECT_EQ(server_side_.stream->unsent(), 0u);
}

TEST_P(HttpStreamTest, CloseAndTheEndOfTheObjectEndIt) {
  for (const bool destroys : {false, true}) {
    client_side_ = {};
    server_side_ = {};
    Connected();
    destroys ? client_side_.stream.reset() : client_side_.stream->Close();
    RunUntil([&] { return server_side_.ends == 1; });
    RunWhatIsReady();
    EXPECT_EQ(client_side_.ends, 0);
    EXPECT_EQ(server_side_.ends, 1);
    EXPECT_NE(server_side_.reason, "");
    EXPECT_EQ(server_->connections(), 0u);
    server_side_.stream->Send("dropped");
    EXPECT_EQ(server_side_.stream->unsent(), 0u);
    server_side_.stream->Close();
    server_side_.stream->Finish();
  }
}

TEST_P(HttpStreamTest, ReadsWhatWasSentBeforeTheEndAlthoughItCannotSend) {
  ServeStreams(true);
  RunBeside([&] {
    RawSocket raw = Connect();
    raw.Send(kAsk);
    raw.ReadUntil(kEndOfHead);
    raw.Send("last words");
    raw.Close();
  });
  RunUntil([&] { return server_side_.stream != nullptr; });
  // The second is refused.
  server_side_.stream->Send("to nobody");
  server_side_.stream->Send("to nobody");
  EXPECT_EQ(server_side_.stream->unsent(), 0u);
  server_side_.stream->Hold(false);
  RunUntil([&] { return server_side_.ends == 1; });
  EXPECT_EQ(server_side_.got, "last words");
}

TEST_P(HttpStreamTest, MayBeDestroyedByItsOwnEvents) {
  ServeStreams();
  std::unique_ptr<ByteStream> stream;
  client_->Upgrade({.method = "POST"}, [&](Result<HttpClient::Upgraded> got) {
    stream = std::move(got->stream);
    stream->Start({.on_bytes = [&](std::string_view) { stream.reset(); },
                   .on_sent = [] {},
                   .on_end = [](const std::string&) { FAIL(); }});
  });
  RunUntil([&] { return stream && server_side_.stream; });
  server_side_.stream->Send("x");
  RunUntil([&] { return stream == nullptr && server_side_.ends == 1; });
}

TEST_P(HttpStreamTest, CountsAsAConnectionUntilItsEnd) {
  options_.max_connections = 1;
  Connected();
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(client_->connections(), 0u);
  EXPECT_EQ(Raw("").substr(0, 13), tls_ ? "" : "HTTP/1.1 503 ");
  client_side_.stream->Finish();
  RunUntil([&] { return server_side_.ends == 1; });
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_P(HttpStreamTest, LivesOnWhenTheServerAcceptsNobodyMoreAndWhenTheClientIsGone) {
  options_.idle_timeout = options_.write_timeout = seconds(10);
  Connected();
  server_->StopAccepting();
  client_.reset();
  Skip(seconds(11));
  RunWhatIsReady();
  client_side_.stream->Send("still there");
  RunUntil([&] { return server_side_.got == "still there"; });
  EXPECT_EQ(server_->connections(), 1u);
  server_side_.stream->Finish();
  RunUntil([&] { return client_side_.ends == 1 && server_->connections() == 0; });
}

TEST_P(HttpStreamTest, TheEndOfTheServerEndsItWithoutACall) {
  Connected();
  server_->Close();
  EXPECT_EQ(server_->connections(), 0u);
  RunUntil([&] { return client_side_.ends == 1; });
  EXPECT_EQ(server_side_.ends, 0);
  server_side_.stream->Send("dropped");
  EXPECT_EQ(server_side_.stream->unsent(), 0u);
}

TEST_P(HttpStreamTest, OneClientHasSoManyAndNoMore) {
  client_options_.max_streams = 2;
  std::vector<std::unique_ptr<ByteStream>> taken;
  Serve([&](HttpRequest, HttpRespond respond) {
    respond({.status = 101, .on_stream = [&](std::unique_ptr<ByteStream> stream) {
               taken.push_back(std::move(stream));
             }});
  });
  auto first = Ask();
  auto second = Ask();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(Ask().error().code, Code::kExhausted);
  first->stream.reset();
  EXPECT_TRUE(Ask());
}

// What it asserts: the sanitizers find nothing when loop, server and client are destroyed around
// a stream that is still sending.
TEST_P(HttpStreamTest, MayBeLeftBehindWhenTheLoopEnds) {
  Connected();
  server_side_.stream->Hold(true);
  client_side_.stream->Send(Pattern(kMuch));
  client_side_.stream->Finish();
  client_side_.stream.reset();
  RunWhatIsReady();
  EXPECT_EQ(server_side_.got, "");
}

}  // namespace
}  // namespace tidemill
