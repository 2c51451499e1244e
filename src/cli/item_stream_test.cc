// SPDX-License-Identifier: Apache-2.0
#include "cli/item_stream.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "net/http_server.h"
#include "net/http_stream.h"
#include "wire/problem_json.h"
#include "wire/stream_json.h"

namespace tidemill::cli {
namespace {

// A server that keeps what it was asked and answers as the test wants.
class ItemStreamTest : public testing::Test {
 protected:
  ItemStreamTest() {
    loop_.After(std::chrono::seconds(60), [] {
      ADD_FAILURE() << "the test hangs";
      std::abort();
    });
    server_.emplace(loop_, HttpServerOptions{}, [this](HttpRequest request, HttpRespond respond) {
      asked_ = std::move(request);
      if (problem_) {
        return respond({.status = problem_->status, .body = FormatProblem(*problem_)});
      }
      HttpResponse response{.status = 101};
      response.on_stream = [this](std::unique_ptr<ByteStream> stream) {
        theirs_ = std::move(stream);
        theirs_->Start({.on_bytes = [](std::string_view) {}, .on_end = [](const auto&) {}});
        theirs_->Send("hello");
      };
      respond(std::move(response));
    });
    EXPECT_TRUE(server_->Start());
    console_.err = [this](std::string_view text) { said_ += text; };
    client_.emplace(loop_, console_, "http://127.0.0.1",
                    Origin{.host = "127.0.0.1", .port = server_->port()}, nullptr,
                    Credentials{.token = "secret", .project = "films"});
  }

  AsioLoop loop_;
  Console console_;
  std::string said_;
  std::optional<Problem> problem_;  // none: a stream
  HttpRequest asked_;
  std::unique_ptr<ByteStream> theirs_;
  std::optional<HttpServer> server_;
  std::optional<Client> client_;
};

TEST_F(ItemStreamTest, AsksForAProgram) {
  const StreamAsk ask{.command = {"ls", "-l"}, .terminal = true, .rows = 50, .term = "xterm"};
  auto stream = AwaitItemStream(*client_, {"render-7", 4711, ask});
  ASSERT_TRUE(stream) << stream.error().reason;
  EXPECT_EQ(asked_.method, "POST");
  EXPECT_EQ(asked_.path, "/v1/jobs/render-7/items/4711/shell");
  EXPECT_TRUE(WantsStream(asked_));
  ASSERT_NE(FindField(asked_.headers, "Authorization"), nullptr);
  EXPECT_EQ(*FindField(asked_.headers, "Authorization"), "Bearer secret");
  ASSERT_NE(FindField(asked_.headers, "Tidemill-Project"), nullptr);
  EXPECT_EQ(*FindField(asked_.headers, "Tidemill-Project"), "films");
  const auto parsed = ParseStreamAsk(asked_.body);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  EXPECT_EQ(*parsed, ask);

  std::string got;
  (*stream)->Start({.on_bytes =
                        [&](std::string_view bytes) {
                          got += bytes;
                          if (got == "hello") loop_.Stop();
                        },
                    .on_end = [](const std::string&) {}});
  loop_.Run();
  EXPECT_EQ(got, "hello");
}

TEST_F(ItemStreamTest, AsksForAPort) {
  ASSERT_TRUE(AwaitItemStream(*client_, {"a b", 0, {.port = 8888}}));
  EXPECT_EQ(asked_.path, "/v1/jobs/a b/items/0/ports/8888");
  EXPECT_EQ(asked_.body, "");
}

TEST_F(ItemStreamTest, SaysWhyThereIsNone) {
  problem_ = ProblemOf(Error{Code::kConflict, "item 3 waits for its turn"});
  const auto busy = AwaitItemStream(*client_, {"render-7", 3, {}});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kConflict);
  EXPECT_EQ(Explain(console_, *client_, busy.error()), kFailed);
  EXPECT_EQ(said_, "item 3 waits for its turn\n");

  problem_ = ProblemOf(Error{Code::kForbidden, "it takes the role submitter"});
  const auto forbidden = AwaitItemStream(*client_, {"render-7", 3, {}});
  ASSERT_FALSE(forbidden);
  EXPECT_TRUE(client_->forbidden());
  EXPECT_EQ(Explain(console_, *client_, forbidden.error()), kNotAllowed);

  server_.reset();
  const auto gone = AwaitItemStream(*client_, {"render-7", 3, {}});
  ASSERT_FALSE(gone);
  EXPECT_FALSE(client_->reached());
  EXPECT_EQ(Explain(console_, *client_, gone.error()), kNoServer);
}

TEST_F(ItemStreamTest, OpensSeveralAtOnce) {
  int opened = 0;
  for (std::uint16_t port = 1; port <= 8; ++port) {
    OpenItemStream(*client_, {"render-7", 3, {.port = port}}, [&](const auto& stream) {
      EXPECT_TRUE(stream);
      if (++opened == 8) loop_.Stop();
    });
  }
  EXPECT_EQ(opened, 0);
  loop_.Run();
  EXPECT_EQ(opened, 8);
}

}  // namespace
}  // namespace tidemill::cli
