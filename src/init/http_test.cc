// SPDX-License-Identifier: Apache-2.0
#include "init/http.h"

#include <gtest/gtest.h>

namespace tidemill::init {
namespace {

using State = HttpRead::State;

TEST(Http, ReadsARequestWhole) {
  const std::string text =
      "POST /token/next?max=4&wait=1000 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAccept: */*\r\n"
      "content-length: 2\r\n\r\n{}POST";
  const HttpRead read = ReadHttp(text);
  ASSERT_EQ(read.state, State::kWhole);
  EXPECT_EQ(read.request.method, "POST");
  EXPECT_EQ(read.request.path, "/token/next");
  EXPECT_EQ(read.request.query, "max=4&wait=1000");
  EXPECT_EQ(read.request.body, "{}");
  EXPECT_TRUE(read.request.keep_alive);
  EXPECT_EQ(read.bytes, text.size() - 4);
}

TEST(Http, WaitsForTheRest) {
  const std::string text = "POST /x HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345";
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ReadHttp(text.substr(0, size)).state, State::kMore) << size;
  }
  EXPECT_EQ(ReadHttp(text).state, State::kWhole);
  const std::string careful =
      "POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
  EXPECT_EQ(ReadHttp(careful).state, State::kContinue);
  EXPECT_EQ(ReadHttp(careful + "x").state, State::kWhole);
}

TEST(Http, KnowsWhoseConnectionGoesOn) {
  const auto keeps = [](const std::string& text) { return ReadHttp(text).request.keep_alive; };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(Http, RefusesWhatIsNoRequest) {
  const std::pair<std::string, int> cases[] = {
      {"\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\n\r\n", 400},
      {"GET x HTTP/1.1\r\n\r\n", 400},
      {"G T / HTTP/1.1\r\n\r\n", 400},
      {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / FTP\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nA b: c\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n folded: c\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413},
      {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
      {"GET / HTTP/1.1\r\nExpect: tea\r\n\r\n", 417},
      {"GET / HTTP/1.1\r\nA: " + std::string(kHttpHeadBytes, 'x'), 431},
  };
  for (const auto& [text, status] : cases) {
    const HttpRead read = ReadHttp(text);
    EXPECT_EQ(read.state, State::kRefused) << text;
    EXPECT_EQ(read.status, status) << text;
  }
}

TEST(Http, HasNumbersInItsQuery) {
  EXPECT_EQ(QueryNumber("max=4&wait=1000", "wait", 7), 1000U);
  EXPECT_EQ(QueryNumber("max=4", "wait", 7), 7U);
  EXPECT_EQ(QueryNumber("", "wait", 7), 7U);
  for (const char* bad : {"wait", "wait=", "wait=x", "wait=-1", "wait=1&wait=1", "wait=1x"}) {
    EXPECT_EQ(QueryNumber(bad, "wait", 7), std::nullopt) << bad;
  }
}

TEST(Http, AnswersWithALength) {
  EXPECT_EQ(FormatHttp({200, "{}"}, true),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(FormatHttp({204, ""}, false), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(HttpProblem(409, "a \"b\"").body, "{\"status\":409,\"title\":\"a \\\"b\\\"\"}\n");
}

}  // namespace
}  // namespace tidemill::init
