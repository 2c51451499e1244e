// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "net/http_fixture.h"
#include "net/name_finder.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HttpClientTest : public BothWays {
 protected:
  // A client of a server that the test plays by hand.
  RawSocket PlayServer() {
    RawSocket listener = RawSocket::Listen();
    NewClient(listener.port());
    return listener;
  }
  // One call, while `server` plays the other side on a thread of its own.
  Result<HttpResponse> CallBeside(HttpCall call, std::function<void()> server) {
    std::thread thread(std::move(server));
    auto result = Call(std::move(call));
    thread.join();
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(, HttpClientTest, ::testing::Bool(), WayName);

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_P(HttpClientTest, SaysThatNothingWasSentWhenRefused) {
  std::uint16_t port = 0;
  {
    const RawSocket listener = RawSocket::Listen();
    port = listener.port();
  }
  NewClient(port);
  EXPECT_EQ(Call({}).error().code, Code::kUnavailable);
  EXPECT_EQ(client_->connections(), 0u);
}

TEST_P(HttpClientTest, ResolvesNames) {
  Serve();
  NewClient(server_->port(), "localhost");
  const auto answer = Call({});
  ASSERT_TRUE(answer) << answer.error().reason;
}

TEST_P(HttpClientTest, ConnectsOnlyToAddressesThatItMay) {
  std::vector<std::string> asked;
  bool yes = false;
  client_options_.may_connect = [&](const std::string& address) {
    asked.push_back(address);
    return yes && address == "127.0.0.1";
  };
  Serve();
  for (const char* host : {"127.0.0.1", "localhost", "2130706433", "0177.0.0.1", "127.1"}) {
    asked.clear();
    NewClient(server_->port(), host);
    EXPECT_EQ(Call({}).error().code, Code::kForbidden) << host;
    EXPECT_NE(std::find(asked.begin(), asked.end(), "127.0.0.1"), asked.end()) << host;
    EXPECT_EQ(client_->connections(), 0u);
  }
  yes = true;
  for (const char* host : {"127.0.0.1", "localhost"}) {
    NewClient(server_->port(), host);
    EXPECT_TRUE(Call({})) << host;
  }
}

// A name whose server answers something harmless first, and this machine's own address then.
TEST_P(HttpClientTest, AsksOnceForTheAddressesOfAName) {
  Serve();
  int asked = 0;
  std::vector<std::string> looked_at;
  client_options_.resolve = [&](const std::string& name, auto done) {
    EXPECT_EQ(name, "localhost");
    const bool first = ++asked == 1;
    loop_.After(Duration::zero(), [first, done] {
      done(std::vector<std::string>{first ? "127.0.0.1" : "127.0.0.77"});
    });
  };
  client_options_.may_connect = [&](const std::string& address) {
    looked_at.push_back(address);
    return address == "127.0.0.1";
  };
  NewClient(server_->port(), "localhost");
  EXPECT_TRUE(Call({}));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(looked_at, std::vector<std::string>{"127.0.0.1"});
  NewClient(server_->port(), "localhost");
  EXPECT_EQ(Call({}).error().code, Code::kForbidden);
  EXPECT_EQ(looked_at.back(), "127.0.0.77");
}

TEST_P(HttpClientTest, ANameWithoutAnAddressIsNotConnectedTo) {
  Serve();
  NameFinder finder(loop_, 1);
  client_options_.resolve = [&](const std::string& name, auto done) { finder.Find(name, done); };
  NewClient(server_->port(), "localhost");
  EXPECT_TRUE(Call({}));
  NewClient(server_->port(), "no-such-name.invalid");
  EXPECT_EQ(Call({}).error().code, Code::kUnavailable);
  client_options_.resolve = [&](const std::string&, auto done) {
    loop_.After(Duration::zero(), [done] { done(std::vector<std::string>{}); });
  };
  NewClient(server_->port(), "localhost");
  EXPECT_EQ(Call({}).error().code, Code::kForbidden);
}

TEST_P(HttpClientTest, GivesUpInTimeAndSaysWhetherTheCallWasSent) {
  client_options_.max_connections = 1;
  int requests = 0;
  Serve([&](HttpRequest, HttpRespond respond) {
    ++requests;
    loop_.After(std::chrono::hours(1), [respond] { respond({}); });
  });
  std::optional<Code> sent;
  std::optional<Code> queued;
  Skip({});
  client_->Send({.timeout = seconds(20)}, [&](auto answer) { sent = answer.error().code; });
  client_->Send({.timeout = seconds(10)}, [&](auto answer) { queued = answer.error().code; });
  RunUntil([&] { return requests == 1; });
  Skip(milliseconds(9'999));
  RunWhatIsReady();
  EXPECT_FALSE(queued);
  Skip(milliseconds(1));
  RunUntil([&] { return queued.has_value(); });
  EXPECT_EQ(queued, Code::kUnavailable);
  EXPECT_FALSE(sent);
  Skip(seconds(10));
  RunUntil([&] { return sent.has_value(); });
  EXPECT_EQ(sent, Code::kUnknown);
  EXPECT_EQ(requests, 1);
  RunUntil([&] { return server_->connections() == 0; });
}

TEST_P(HttpClientTest, QueuesForItsConnectionsUpToALimit) {
  client_options_.max_connections = 2;
  client_options_.max_queued = 3;
  Serve();
  int answered = 0;
  int exhausted = 0;
  for (int i = 0; i < 6; ++i) {
    client_->Send({}, [&](Result<HttpResponse> answer) {
      ++answered;
      if (!answer && answer.error().code == Code::kExhausted) ++exhausted;
    });
  }
  EXPECT_EQ(client_->connections(), 2u);
  EXPECT_EQ(answered, 0);
  RunUntil([&] { return answered == 6; });
  EXPECT_EQ(exhausted, 1);
}

TEST_P(HttpClientTest, RepeatsACallThatMetAConnectionJustClosed) {
  RawSocket listener = PlayServer();
  std::optional<RawSocket> first;
  auto answer = CallBeside({.target = "/1"}, [&] {
    first.emplace(listener.Accept(tls_));
    EXPECT_NE(first->ReadUntil(kEndOfHead).find("GET /1 "), std::string::npos);
    first->Send(kOk);
  });
  EXPECT_EQ(answer->body, "ok");
  answer = CallBeside({.method = "POST", .target = "/2", .body = "body"}, [&] {
    // It has come as far as the server's machine, and no answer ever began.
    EXPECT_NE(first->ReadUntil("body"), "");
    first->Reset();
    RawSocket second = listener.Accept(tls_);
    EXPECT_NE(second.ReadUntil("body").find("POST /2 "), std::string::npos);
    second.Send(kOk);
  });
  ASSERT_TRUE(answer) << answer.error().reason;
  EXPECT_EQ(answer->body, "ok");
}

TEST_P(HttpClientTest, DoesNotRepeatACallOnANewConnectionOrAfterAByteOfAnswer) {
  RawSocket listener = PlayServer();
  auto answer = CallBeside({}, [&] {
    RawSocket fresh = listener.Accept(tls_);
    fresh.ReadUntil(kEndOfHead);
  });
  EXPECT_EQ(answer.error().code, Code::kUnknown);
  std::optional<RawSocket> kept;
  answer = CallBeside({}, [&] {
    kept.emplace(listener.Accept(tls_));
    kept->ReadUntil(kEndOfHead);
    kept->Send(kOk);
  });
  ASSERT_TRUE(answer);
  answer = CallBeside({}, [&] {
    kept->ReadUntil(kEndOfHead);
    kept->Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    kept->Close();
  });
  EXPECT_EQ(answer.error().code, Code::kUnknown);
}

TEST_P(HttpClientTest, ForgetsAnIdleConnectionThatTheServerClosesOrThatSpeaksUnasked) {
  RawSocket listener = PlayServer();
  for (const bool speaks : {false, true}) {
    std::optional<RawSocket> raw;
    const auto answer = CallBeside({}, [&] {
      raw.emplace(listener.Accept(tls_));
      raw->ReadUntil(kEndOfHead);
      raw->Send(kOk);
    });
    ASSERT_TRUE(answer);
    EXPECT_EQ(client_->connections(), 1u);
    speaks ? raw->Send("HTTP/1.1 408 ") : raw->Close();
    RunUntil([&] { return client_->connections() == 0; });
  }
}

TEST_P(HttpClientTest, ClosesItsIdleConnectionsInTime) {
  client_options_.idle_timeout = seconds(20);
  Serve();
  Skip({});
  ASSERT_TRUE(Call({}));
  Skip(milliseconds(19'999));
  RunWhatIsReady();
  EXPECT_EQ(client_->connections(), 1u);
  Skip(milliseconds(1));
  RunUntil([&] { return client_->connections() == 0; });
}

TEST_P(HttpClientTest, RefusesAnswersThatAreMalformedOrTooLong) {
  client_options_.max_body_bytes = 10;
  RawSocket listener = PlayServer();
  const std::string too_long = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n";
  for (const std::string& bad : {too_long, "nonsense" + kEndOfHead}) {
    const auto answer = CallBeside({}, [&] {
      RawSocket raw = listener.Accept(tls_);
      raw.ReadUntil(kEndOfHead);
      raw.Send(bad);
      raw.ReadAll();
    });
    EXPECT_EQ(answer.error().code, Code::kUnknown);
    EXPECT_EQ(client_->connections(), 0u);
  }
}

TEST_P(HttpClientTest, RefusesACallThatIsMalformed) {
  Serve();
  EXPECT_EQ(Call({.target = "/a b"}).error().code, Code::kInvalid);
  EXPECT_EQ(Call({.target = "/\r\nX: y"}).error().code, Code::kInvalid);
  EXPECT_EQ(Call({.method = "G T"}).error().code, Code::kInvalid);
  EXPECT_EQ(Call({.headers = {{"X", "a\nb"}}}).error().code, Code::kInvalid);
}

TEST_P(HttpClientTest, MayBeDestroyedWithCallsUnderWayAndFromItsOwnCallback) {
  Serve();
  client_->Send({}, [](auto) { FAIL(); });
  NewClient(server_->port());
  client_->Send({}, [this](auto) {
    client_.reset();
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_FALSE(client_);
  RunUntil([&] { return server_->connections() == 0; });
}

}  // namespace
}  // namespace tidemill
