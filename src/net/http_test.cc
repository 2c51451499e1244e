// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "net/http_parser.h"

namespace tidemill {
namespace {

constexpr ParserLimits kLimits{.header_bytes = 1024, .body_bytes = 100};

// Feeds as a connection does: what is left over comes again, with one piece more.
struct Reader {
  ParserStep Read(const std::string& text, std::size_t piece) {
    std::string held;
    ParserStep step = ParserStep::kMore;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      held += text.substr(at, piece);
      do {
        const ParserFed fed = parser.Feed(held);
        held.erase(0, fed.used);
        step = fed.step;
        if (step == ParserStep::kDone || step == ParserStep::kBad) {
          rest = held + text.substr(std::min(at + piece, text.size()));
          return step;
        }
      } while (step == ParserStep::kHeader);
    }
    return step;
  }
  RequestParser parser{kLimits};
  std::string rest;
};

TEST(ParseTarget, DecodesPathAndQuery) {
  const auto target = ParseTarget("/v1/jobs/a%20b%2Fc+d?name=x%26y&empty=&bare&a+b=c%2Bd&&name=2");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/jobs/a b/c+d");
  EXPECT_TRUE(target->has_encoded_slash);
  EXPECT_TRUE(ParseTarget("/a%2fb")->has_encoded_slash);
  EXPECT_FALSE(ParseTarget("/a/b?c=%2F")->has_encoded_slash);
  const HttpFields query{
      {"name", "x&y"}, {"empty", ""}, {"bare", ""}, {"a b", "c+d"}, {"name", "2"}};
  EXPECT_EQ(target->query, query);
}

TEST(ParseTarget, AcceptsAWholeUrl) {
  EXPECT_EQ(ParseTarget("http://host:1/a?b=c")->path, "/a");
  EXPECT_EQ(ParseTarget("http://host")->path, "/");
}

TEST(ParseTarget, RefusesWhatIsMalformed) {
  for (const char* bad :
       {"", "a", "*", "host:80", "/%", "/%2", "/%zz", "/%00", "/?a=%", "/?%g0=1"}) {
    EXPECT_FALSE(ParseTarget(bad)) << bad;
  }
}

TEST(PercentEncode, IsUndoneByParseTarget) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto target = ParseTarget("/" + PercentEncode(all) + "?q=" + PercentEncode(all));
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/" + all);
  EXPECT_EQ(target->query[0].second, all);
}

TEST(ParseUrl, KnowsHostsPortsAndIpv6) {
  EXPECT_EQ(ParseUrl("http://127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(ParseUrl("HTTP://host-1.example/")->port, 80);
  EXPECT_EQ(ParseUrl("http://[::1]:9")->host, "::1");
  EXPECT_EQ(Authority(*ParseUrl("http://[::1]:9")), "[::1]:9");
  EXPECT_EQ(Authority(*ParseUrl("http://a:80")), "a");
  EXPECT_FALSE(ParseUrl("http://a")->tls);
  EXPECT_TRUE(ParseUrl("HTTPS://a")->tls);
  EXPECT_EQ(ParseUrl("https://a/")->port, 443);
  EXPECT_EQ(Authority(*ParseUrl("https://a:443")), "a");
  EXPECT_EQ(Authority(*ParseUrl("https://a:80")), "a:80");
  for (const char* bad :
       {"", "http://", "https://", "ftp://a", "http://a:", "http://a:0", "http://a:65536",
        "http://a:1x", "http://a/b", "http://::1:80", "http://[::1", "http://u@a", "http://:1"}) {
    EXPECT_FALSE(ParseUrl(bad)) << bad;
  }
}

TEST(ParseSafeUrl, TakesClearTextToThisMachineOnly) {
  for (const char* good : {"https://batch.example", "http://127.0.0.1:1", "http://127.9.9.9",
                           "http://[::1]:1", "http://LocalHost:1"}) {
    EXPECT_TRUE(ParseSafeUrl(good)) << good;
  }
  for (const char* bad : {"http://batch.example", "http://10.0.0.1:1", "http://[::2]:1",
                          "http://localhost.example", "http://127.0.0.1.example"}) {
    const auto url = ParseSafeUrl(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().code, Code::kInvalid);
    EXPECT_NE(url.error().reason.find("use https://"), std::string::npos);
  }
}

TEST(IsSafeField, RefusesWhatWouldEndItsLine) {
  EXPECT_TRUE(IsSafeField("X-A", "some text\t\xc3\xa4"));
  EXPECT_FALSE(IsSafeField("X-A", "a\r\nB: c"));
  EXPECT_FALSE(IsSafeField("X A", "b"));
  EXPECT_FALSE(IsSafeField("", "b"));
}

TEST(RequestParser, GivesTheSameWhateverThePieces) {
  const std::string next = "GET /next";
  const std::string fixed =
      "POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nContent-Type: t/x\r\nContent-Length: 5\r\n\r\nhello";
  const std::string chunked =
      "POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nContent-Type: t/x\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nHost: evil\r\n\r\n";
  for (const std::string& text : {fixed, chunked}) {
    for (std::size_t piece = 1; piece < text.size() + 5; ++piece) {
      Reader reader;
      ASSERT_EQ(reader.Read(text + next, piece), ParserStep::kDone) << piece;
      EXPECT_EQ(reader.rest, next);
      EXPECT_TRUE(reader.parser.keep_alive());
      const HttpRequest request = reader.parser.Take();
      EXPECT_EQ(request.method, "POST");
      EXPECT_EQ(request.path, "/a b");
      EXPECT_EQ(request.content_type, "t/x");
      EXPECT_EQ(request.body, "hello");
      EXPECT_EQ(*FindField(request.headers, "hOST"), "h");
      EXPECT_EQ(request.headers.size(), 3u);
    }
  }
}

TEST(RequestParser, ReadsAnEmptyChunkedBodyInAnyPieces) {
  const std::string text =
      "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    Reader reader;
    ASSERT_EQ(reader.Read(text, piece), ParserStep::kDone) << piece;
    EXPECT_EQ(reader.parser.Take().body, "");
  }
}

TEST(RequestParser, RefusesWithTheRightStatusWhateverThePieces) {
  const std::string host = " HTTP/1.1\r\nHost: h\r\n";
  std::string many_fields;
  for (int i = 0; i < 200; ++i) many_fields += "A: b\r\n";
  const struct {
    int status;
    std::string text;
  } cases[] = {
      {400, "nonsense\r\n\r\n"},
      {400, "GET /" + host + "no colon\r\n\r\n"},
      {400, "GET /%zz" + host + "\r\n"},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET /" + host + "Host: other\r\n\r\n"},
      {400, "PUT /" + host + "Content-Length: -1\r\n\r\n"},
      {400, "PUT /" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"},
      {400, "PUT /" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {400, "PUT /" + host + "Transfer-Encoding: chunked\r\n\r\nxyzzy\r\n\r\n"},
      {413, "PUT /" + host + "Content-Length: 101\r\n\r\n"},
      {413, "PUT /" + host + "Transfer-Encoding: chunked\r\n\r\nfff\r\n\r\n"},
      {431, "GET /" + std::string(2000, 'a') + host + "\r\n"},
      {431, "GET /" + host + many_fields + "\r\n"},
      {431, "GET /" + host + "A: " + std::string(2000, 'a')},
      {431, "PUT /" + host + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(2000, 'a')},
      {400, "GET /" + host + "A: b\r\n c\r\n\r\n"},
      {400, "GET /" + host + "A: b\r\n\tc\r\n\r\n"},
      {501, "PUT /" + host + "Transfer-Encoding: gzip\r\n\r\n"},
      {501, "PUT /" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n"},
      {501, "PUT /" + host + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {501, "PUT /" + host + "Transfer-Encoding: chunked, chunked\r\n\r\n"},
      {505, "GET / HTTP/2.0\r\n\r\n"},
  };
  for (const auto& [status, text] : cases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
      Reader reader;
      ASSERT_EQ(reader.Read(text, piece), ParserStep::kBad) << text << " by " << piece;
      EXPECT_EQ(reader.parser.status(), status) << text << " by " << piece;
    }
  }
}

TEST(ResponseParser, SkipsInterimAnswersAndReadsUntilTheEnd) {
  ResponseParser parser(kLimits, ParserAnswerTo::kOther);
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(parser.Feed(interim + "HTTP/1.1 200 OK\r\n\r\nhel").step, ParserStep::kMore);
  EXPECT_EQ(parser.Feed("lo").step, ParserStep::kMore);
  ASSERT_EQ(parser.FeedEnd(), ParserStep::kDone);
  EXPECT_FALSE(parser.keep_alive());
  EXPECT_EQ(parser.Take().body, "hello");
}

TEST(ResponseParser, RefusesAnAnswerThatEndsEarlyOrIsTooLong) {
  ResponseParser early(kLimits, ParserAnswerTo::kOther);
  EXPECT_EQ(early.Feed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel").step, ParserStep::kMore);
  EXPECT_EQ(early.FeedEnd(), ParserStep::kBad);
  ResponseParser longer(kLimits, ParserAnswerTo::kOther);
  EXPECT_EQ(longer.Feed("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n").step, ParserStep::kBad);
  ResponseParser nothing(kLimits, ParserAnswerTo::kOther);
  EXPECT_EQ(nothing.FeedEnd(), ParserStep::kBad);
}

}  // namespace
}  // namespace tidemill
