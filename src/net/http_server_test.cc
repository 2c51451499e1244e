// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <sys/resource.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "net/http_fixture.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HttpServerTest : public BothWays {
 protected:
  // Holds every request until the test answers it.
  void ServeAndHold() {
    Serve([this](HttpRequest request, HttpRespond respond) {
      held_.push_back({std::move(request), std::move(respond)});
    });
  }
  struct Held {
    HttpRequest request;
    HttpRespond respond;
  };
  std::vector<Held> held_;
};

INSTANTIATE_TEST_SUITE_P(, HttpServerTest, ::testing::Bool(), WayName);

std::size_t Count(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_P(HttpServerTest, KeepsAConnectionForManyRequests) {
  Serve();
  for (int i = 0; i < 100; ++i) {
    const auto answer =
        Call({.method = "POST", .target = "/a", .content_type = "t/x", .body = "hi"});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "POST /a hi");
    EXPECT_EQ(answer->content_type, "t/x");
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_P(HttpServerTest, AnswersRequestsSentAheadInTheirOrder) {
  Serve([this](HttpRequest request, HttpRespond respond) {
    // Later, so that the rest comes while this one is held.
    loop_.After(milliseconds(1), [path = request.path, respond] { respond({.body = path}); });
  });
  const std::string get = " HTTP/1.1\r\nHost: h\r\n";
  const std::string answer = Raw("GET /1" + get + "\r\n\r\nGET /2" + get + "\r\nGET /3" + get +
                                 "Connection: close\r\n\r\nGET /4");
  EXPECT_EQ(Count(answer, "HTTP/1.1 200 OK\r\n"), 3u);
  EXPECT_LT(answer.find("\r\n\r\n/1HTTP"), answer.find("\r\n\r\n/2HTTP"));
  EXPECT_TRUE(answer.ends_with("Connection: close\r\n\r\n/3"));
}

TEST_P(HttpServerTest, AnswersARequestThatHasComeWhileOneWasHeld) {
  ServeAndHold();
  const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  std::optional<RawSocket> raw;
  RunBeside([&] {
    raw.emplace(Connect());
    raw->Send(get);
  });
  RunUntil([&] { return held_.size() == 1; });
  raw->Send(get);
  RunWhatIsReady();  // the server may notice it, but not hand it on
  EXPECT_EQ(held_.size(), 1u);
  held_[0].respond({});
  RunUntil([&] { return held_.size() == 2; });
  ASSERT_EQ(held_.size(), 2u);
  EXPECT_FALSE(held_[1].request.peer->gone);
}

TEST_P(HttpServerTest, SpeaksTheOldVersionAndHead) {
  Serve();
  EXPECT_TRUE(Raw("GET /a HTTP/1.0\r\n\r\n").ends_with("Connection: close\r\n\r\nGET /a "));
  const auto head = Call({.method = "HEAD", .target = "/a"});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(*FindField(head->headers, "Content-Length"), "7");
  EXPECT_EQ(Call({.target = "/b"})->body, "GET /b ");
}

TEST_P(HttpServerTest, SaysContinueToWhoAsks) {
  Serve();
  RunBeside([&] {
    RawSocket raw = Connect();
    raw.Send(
        "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
        "Connection: close\r\n\r\n");
    EXPECT_EQ(raw.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    raw.Send("hi");
    EXPECT_TRUE(raw.ReadAll().ends_with("\r\n\r\nPUT / hi"));
  });
}

TEST_P(HttpServerTest, AnswersALongPollLater) {
  Serve([this](HttpRequest, HttpRespond respond) {
    loop_.After(milliseconds(50), [respond] { respond({.status = 204}); });
  });
  const auto answer = Call({});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(FindField(answer->headers, "Content-Length"), nullptr);
}

TEST_P(HttpServerTest, FreesTheWaiterWhoseClientHasGone) {
  for (const bool is_reset : {false, true}) {
    ServeAndHold();
    std::optional<RawSocket> raw;
    RunBeside([&] {
      raw.emplace(Connect());
      raw->Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    });
    RunUntil([&] { return held_.size() == 1; });
    EXPECT_FALSE(held_[0].request.peer->gone);
    int gone = 0;
    held_[0].request.peer->on_gone = [&] { ++gone; };
    is_reset ? raw->Reset() : raw->Close();
    RunUntil([&] { return gone > 0; });
    EXPECT_EQ(gone, 1);
    EXPECT_TRUE(held_[0].request.peer->gone);
    EXPECT_EQ(server_->connections(), 0u);
    held_[0].respond({});
    held_.clear();
  }
}

TEST_P(HttpServerTest, Answers500ForARequestThatWasDropped) {
  Serve([](HttpRequest, HttpRespond) {});
  EXPECT_EQ(Call({})->status, 500);
  ServeAndHold();
  int status = 0;
  client_->Send({}, [&](Result<HttpResponse> answer) { status = answer ? answer->status : -1; });
  RunUntil([&] { return held_.size() == 1; });
  held_.clear();
  RunUntil([&] { return status != 0; });
  EXPECT_EQ(status, 500);
}

TEST_P(HttpServerTest, Answers500ForAnAnswerThatWouldSmuggleAField) {
  Serve(
      [](HttpRequest, HttpRespond respond) { respond({.headers = {{"Location", "/\r\nX: y"}}}); });
  EXPECT_EQ(Call({})->status, 500);
}

TEST_P(HttpServerTest, TakesABodyUpToTheLimitAndRefusesALongerOne) {
  options_.max_body_bytes = 8 << 20;
  Serve();
  const std::string body(8 << 20, 'x');
  auto answer = Call({.method = "PUT", .body = body});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "PUT / " + body);
  // The answer comes although the body is never read to its end.
  answer = Call({.method = "PUT", .body = body + "y"});
  ASSERT_TRUE(answer) << answer.error().reason;
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(Call({})->status, 200);
}

TEST_P(HttpServerTest, RefusesBodiesBeyondTheBudgetUntilThereIsRoom) {
  options_.max_body_bytes = 1000;
  options_.max_bodies_bytes = 1500;
  ServeAndHold();
  int held_status = 0;
  client_->Send({.method = "PUT", .body = std::string(1000, 'x')},
                [&](Result<HttpResponse> answer) { held_status = answer->status; });
  RunUntil([&] { return held_.size() == 1; });
  const auto refused = Call({.method = "PUT", .body = std::string(501, 'x')});
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(*FindField(refused->headers, "Retry-After"), "1");
  EXPECT_TRUE(Raw("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1f5\r\n" +
                  std::string(501, 'x') + "\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 503"));
  held_[0].respond({.status = 202});
  RunUntil([&] { return held_status == 202; });
  client_->Send({.method = "PUT", .body = std::string(1000, 'x')}, [](auto) { FAIL(); });
  RunUntil([&] { return held_.size() == 2; });
}

TEST_P(HttpServerTest, GivesTheBudgetBackWhenAClientEndsInItsBody) {
  options_.max_body_bytes = 1000;
  options_.max_bodies_bytes = 1000;
  Serve();
  for (int i = 0; i < 10; ++i) {
    RunBeside([&] {
      RawSocket raw = Connect();
      raw.Send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
      EXPECT_NE(raw.ReadUntil("\r\n\r\n"), "");
      raw.Send("some of it");
      i % 2 == 0 ? raw.Close() : raw.Reset();
    });
    RunUntil([&] { return server_->connections() == 0; });
  }
  const auto answer = Call({.method = "PUT", .body = std::string(1000, 'x')});
  EXPECT_EQ(answer->status, 200);
}

TEST_P(HttpServerTest, WhoAnnouncesABodyAndSendsNoneTakesNoRoom) {
  options_.max_body_bytes = 1000;
  options_.max_bodies_bytes = options_.max_strangers_bytes = 1000;
  Serve();
  std::deque<RawSocket> idle;
  RunBeside([&] {
    for (int i = 0; i < 10; ++i) {
      idle.push_back(Connect());
      idle.back().Send(
          "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
      EXPECT_NE(idle.back().ReadUntil(kEndOfHead), "");
    }
  });
  EXPECT_EQ(Call({.method = "PUT", .body = std::string(1000, 'x')})->status, 200);
}

// Those with the field are known.
HttpAdmission KnowsByField(const HttpRequest& head) {
  return {.known = FindField(head.headers, "Who") != nullptr};
}

TEST_P(HttpServerTest, AStrangersUnfinishedBodyMakesWay) {
  options_.max_body_bytes = 1000;
  options_.max_bodies_bytes = 1800;
  options_.max_strangers_bytes = 1000;
  options_.admit = KnowsByField;
  Serve();
  std::optional<RawSocket> slow;
  const auto begin_slowly = [&] {
    slow.emplace(Connect());
    slow->Send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + std::string(900, 'x'));
  };
  RunBeside(begin_slowly);
  RunWhatIsReady();
  EXPECT_EQ(Call({.method = "PUT", .body = std::string(500, 'x')})->status, 200);
  RunBeside([&] { EXPECT_TRUE(slow->ReadAll().starts_with("HTTP/1.1 503 ")); });

  RunBeside(begin_slowly);
  RunWhatIsReady();
  EXPECT_EQ(
      Call({.method = "PUT", .body = std::string(1000, 'x'), .headers = {{"Who", "me"}}})->status,
      200)
      << "strangers leave the rest to those that are known";
  RunBeside([&] { EXPECT_TRUE(slow->ReadAll().starts_with("HTTP/1.1 503 ")); });
}

TEST_P(HttpServerTest, AnswersWhomItDoesNotAdmitWithoutItsBody) {
  options_.admit = [](const HttpRequest& head) {
    return HttpAdmission{.reads_body = head.path != "/no", .max_body_bytes = 10};
  };
  Serve();
  const std::string host = " HTTP/1.1\r\nHost: h\r\n";
  // None of their bodies ever comes.
  EXPECT_TRUE(Raw("PUT /no" + host + "Content-Length: 99\r\n\r\n").ends_with("\r\n\r\nPUT /no "));
  EXPECT_TRUE(
      Raw("PUT /no" + host + "Transfer-Encoding: chunked\r\n\r\n").ends_with("\r\n\r\nPUT /no "));
  EXPECT_TRUE(Raw("PUT /yes" + host + "Content-Length: 11\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(Raw("PUT /yes" + host + "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n")
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_EQ(Call({.method = "PUT", .body = "0123456789"})->body, "PUT / 0123456789");
  EXPECT_EQ(Call({.target = "/no"})->body, "GET /no ");
}

TEST_P(HttpServerTest, TheOldestStrangerMakesWayForAnotherConnection) {
  options_.max_connections = 3;
  options_.admit = KnowsByField;
  Serve();
  const HttpCall mine{.headers = {{"Who", "me"}}};
  EXPECT_EQ(Call(mine)->status, 200);
  RunBeside([&] {
    std::deque<RawSocket> strangers;
    for (int i = 0; i < 6; ++i) strangers.push_back(Connect());
    // Two may be there beside the one that is known.
    for (int i = 0; i < 4; ++i) EXPECT_EQ(strangers[static_cast<std::size_t>(i)].ReadAll(), "");
    strangers[4].Send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(strangers[4].ReadAll().starts_with("HTTP/1.1 200 "));
  });
  EXPECT_EQ(client_->connections(), 1U) << "it was cut off";
  EXPECT_EQ(Call(mine)->status, 200);
}

TEST_P(HttpServerTest, ShapesItsOwnErrorsAsTold) {
  options_.error_page = [](int status, std::string detail) {
    return HttpResponse{.content_type = "application/problem+json",
                        .body = std::to_string(status) + "!" + detail};
  };
  Serve();
  const std::string answer = Raw("nonsense\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Type: application/problem+json\r\n"), answer.npos);
  EXPECT_NE(answer.find("\r\n\r\n400!"), answer.npos);
  EXPECT_TRUE(Raw("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Raw("GET / HTTP/1.1\r\nA: " + std::string(99'999, 'a')).starts_with("HTTP/1.1 431 "));
}

TEST_P(HttpServerTest, DoesNotWaitForSlowClients) {
  options_.header_timeout = options_.body_timeout = options_.idle_timeout = milliseconds(2'000);
  Serve();
  EXPECT_EQ(Raw(""), "");
  EXPECT_TRUE(Raw("GET / HT").starts_with("HTTP/1.1 408 "));
  const std::string put = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n";
  EXPECT_TRUE(Raw(put + "x").starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(Raw("GET / HTTP/1.1\r\nHost: h\r\n\r\n").ends_with("\r\n\r\nGET / "));
}

TEST_P(HttpServerTest, RefusesConnectionsBeyondTheLimit) {
  options_.max_connections = 1;
  Serve();
  EXPECT_EQ(Call({})->status, 200);
  // Nobody pays for a handshake to be told so.
  EXPECT_EQ(Raw("").substr(0, 13), tls_ ? "" : "HTTP/1.1 503 ");
  EXPECT_EQ(Call({})->status, 200);
}

TEST_P(HttpServerTest, WaitsQuietlyForDescriptorsWhenThereAreNone) {
  Serve();
  RawSocket raw = RawSocket::ConnectPlain(server_->port());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  Skip({});
  int calls = 0;
  while (calls < 100 && loop_.Step(milliseconds(50))) ++calls;
  EXPECT_LT(calls, 100) << "it is asked again and again";
  EXPECT_EQ(server_->connections(), 0u);
  setrlimit(RLIMIT_NOFILE, &before);
  Skip(milliseconds(100));
  RunBeside([&] {
    if (tls_) raw.BecomeTls();
    raw.Send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(raw.ReadAll().starts_with("HTTP/1.1 200 "));
  });
}

TEST_P(HttpServerTest, FinishesWhatIsUnderWayAfterItHasStoppedAccepting) {
  ServeAndHold();
  std::optional<Result<HttpResponse>> idle, busy, late;
  client_->Send({}, [&](auto answer) { idle = std::move(answer); });
  client_->Send({}, [&](auto answer) { busy = std::move(answer); });
  RunUntil([&] { return held_.size() == 2; });
  held_[0].respond({});
  RunUntil([&] { return idle || busy; });
  EXPECT_EQ(server_->connections(), 2u);
  server_->StopAccepting();
  EXPECT_EQ(server_->connections(), 1u);
  held_[1].respond({.body = "last"});
  RunUntil([&] { return idle && busy; });
  const std::string* close = nullptr;
  for (const auto* answer : {&*idle, &*busy}) {
    if ((*answer)->body == "last") close = FindField((*answer)->headers, "Connection");
  }
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(*close, "close");
  RunUntil([&] { return server_->connections() == 0; });
  EXPECT_EQ(Call({}).error().code, Code::kUnavailable);
}

TEST_P(HttpServerTest, SaysWhatToDoWhenThePortIsTaken) {
  Serve();
  HttpServer other(loop_, {.port = server_->port()}, [](HttpRequest, HttpRespond) {});
  const auto started = other.Start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kUnavailable);
  EXPECT_NE(started.error().reason.find("choose another port"), std::string::npos);
  HttpServer nowhere(loop_, {.address = "nowhere"}, [](HttpRequest, HttpRespond) {});
  EXPECT_EQ(nowhere.Start().error().code, Code::kInvalid);
}

TEST_P(HttpServerTest, CanBeDestroyedWhileRequestsAreHeld) {
  ServeAndHold();
  client_->Send({.timeout = seconds(10)}, [](auto) {});
  RunUntil([&] { return held_.size() == 1; });
  held_[0].request.peer->on_gone = [] { FAIL(); };
  server_.reset();
  EXPECT_TRUE(held_[0].request.peer->gone);
  held_[0].respond({});
}

TEST_P(HttpServerTest, AnswersAThousandRequestsAtOnce) {
  ServeAndHold();
  std::vector<std::unique_ptr<HttpClient>> clients;
  int answered = 0;
  for (int i = 0; i < 250; ++i) {
    clients.push_back(
        std::make_unique<HttpClient>(loop_, OriginOf(server_->port()), ClientOptions()));
    for (int k = 0; k < 4; ++k) {
      const std::string path = "/" + std::to_string(i * 4 + k);
      clients.back()->Send({.target = path}, [&, path](Result<HttpResponse> answer) {
        ASSERT_TRUE(answer) << answer.error().reason;
        EXPECT_EQ(answer->body, path);
        ++answered;
      });
    }
  }
  RunUntil([&] { return held_.size() == 1000; });
  for (auto& held : held_) held.respond({.body = held.request.path});
  RunUntil([&] { return answered == 1000; });
  EXPECT_EQ(server_->connections(), 1000u);
}

}  // namespace
}  // namespace tidemill
