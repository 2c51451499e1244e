// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/http_streams.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/http_server.h"
#include "net/http_stream.h"
#include "wire/stream_json.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

const SessionPass kPass{{1, 2}, "secret"};
constexpr StreamId kStream{3, 4};

// Servers on one loop that are played, by their place in the list.
class HttpStreamsTest : public ::testing::Test {
 protected:
  HttpStreamsTest() {
    loop_.After(seconds(20), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }

  using Answer = std::function<HttpResponse()>;
  void Serve(Answer answer) {
    const std::size_t place = servers_.size();
    servers_.push_back(std::make_unique<HttpServer>(
        loop_, HttpServerOptions{},
        [this, place, answer = std::move(answer)](HttpRequest request, const HttpRespond& respond) {
          asked_.push_back(place);
          last_ = std::move(request);
          respond(answer());
        }));
    ASSERT_TRUE(servers_.back()->Start());
    origins_.push_back({.host = "127.0.0.1", .port = servers_.back()->port()});
  }
  // What becomes of all that is sent to it: it goes back.
  Answer Echo() {
    return [this] {
      return HttpResponse{.status = 101, .on_stream = [this](std::unique_ptr<ByteStream> stream) {
                            echo_ = std::move(stream);
                            echo_->Start({.on_bytes = [this](auto bytes) { echo_->Send(bytes); },
                                          .on_end = [](const std::string&) {}});
                          }};
    };
  }
  static Answer Says(int status) {
    return [status] { return HttpResponse{.status = status}; };
  }

  Result<std::unique_ptr<ByteStream>> Connect() {
    HttpStreams streams(loop_, origins_);
    std::optional<Result<std::unique_ptr<ByteStream>>> got;
    streams.Connect(kPass, kStream, [&](Result<std::unique_ptr<ByteStream>> result) {
      got = std::move(result);
      loop_.Stop();
    });
    EXPECT_FALSE(got) << "called from inside";
    loop_.Run();
    return got ? *std::move(got) : Fail(Code::kInternal, "hangs");
  }
  void RunUntil(const std::function<bool()>& is_true) {
    std::function<void()> look = [&] {
      if (is_true()) return loop_.Stop();
      loop_.After(std::chrono::milliseconds(1), look);
    };
    look();
    loop_.Run();
    EXPECT_TRUE(is_true());
  }

  AsioLoop loop_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::vector<Origin> origins_;
  std::vector<std::size_t> asked_;  // servers, in order
  HttpRequest last_;
  std::unique_ptr<ByteStream> echo_;
};

TEST_F(HttpStreamsTest, ConnectsWhereSomebodyWaits) {
  Serve(Says(404));
  Serve(Echo());
  Serve(Says(404));
  auto stream = Connect();
  ASSERT_TRUE(stream) << stream.error().reason;
  EXPECT_EQ(asked_, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(last_.method, "POST");
  EXPECT_EQ(last_.path, "/v1/agents/" + ToString(kPass.session) + "/streams/" + ToString(kStream));
  EXPECT_TRUE(WantsStream(last_));
  ASSERT_NE(FindField(last_.headers, "Authorization"), nullptr);
  EXPECT_EQ(*FindField(last_.headers, "Authorization"), "Bearer secret");
  std::string got;
  (*stream)->Start({.on_bytes = [&got](std::string_view bytes) { got += bytes; },
                    .on_end = [](const std::string&) {}});
  (*stream)->Send("to and fro");
  RunUntil([&got] { return got == "to and fro"; });
}

TEST_F(HttpStreamsTest, TriesAgainBecauseServersMayBeBehindOneAddress) {
  Serve([this, echo = Echo()] {
    return asked_.size() < HttpStreams::kRounds ? HttpResponse{.status = 404} : echo();
  });
  const TimePoint began = loop_.Now();
  const auto stream = Connect();
  ASSERT_TRUE(stream) << stream.error().reason;
  EXPECT_EQ(asked_.size(), HttpStreams::kRounds);
  EXPECT_GE(loop_.Now() - began, HttpStreams::kBetweenRounds * (HttpStreams::kRounds - 1));
}

TEST_F(HttpStreamsTest, SaysThatNobodyWaits) {
  Serve(Says(404));
  Serve(Says(404));
  EXPECT_EQ(Connect().error().code, Code::kNotFound);
  EXPECT_EQ(asked_.size(), 2 * HttpStreams::kRounds);
}

// On a server that does not answer somebody may wait.
TEST_F(HttpStreamsTest, DoesNotSaySoIfAServerCannotBeAsked) {
  Serve(Says(404));
  Serve(Says(404));
  servers_[1]->Close();
  EXPECT_EQ(Connect().error().code, Code::kUnavailable);
}

TEST_F(HttpStreamsTest, ARefusalGoesRoundUntilItIsTaken) {
  Serve(Says(404));
  Serve([this] { return HttpResponse{.status = asked_.size() < 3 ? 404 : 204}; });
  HttpStreams streams(loop_, origins_);
  streams.Refuse(kPass, kStream, "item 7 has ended");
  // A connection that is kept would lead to the same of several servers each time.
  RunUntil([this] {
    return asked_.size() >= 4 && servers_[0]->connections() + servers_[1]->connections() == 0;
  });
  EXPECT_EQ(asked_, (std::vector<std::size_t>{0, 1, 0, 1}));
  EXPECT_EQ(last_.method, "POST");
  EXPECT_EQ(last_.path,
            "/v1/agents/" + ToString(kPass.session) + "/streams/" + ToString(kStream) + "/refusal");
  EXPECT_EQ(last_.body, FormatRefusal("item 7 has ended"));
  EXPECT_EQ(last_.content_type, "application/json");
}

TEST_F(HttpStreamsTest, MayEndInTheMidst) {
  Serve(Says(404));
  auto streams = std::make_unique<HttpStreams>(loop_, origins_);
  streams->Connect(kPass, kStream, [](const auto&) { ADD_FAILURE(); });
  streams->Refuse(kPass, kStream, "no");
  RunUntil([this] { return asked_.size() >= 2; });
  streams.reset();
  bool over = false;
  loop_.After(3 * HttpStreams::kBetweenRounds, [&over] { over = true; });
  RunUntil([&over] { return over; });
  EXPECT_EQ(asked_.size(), 2U);
}

}  // namespace
}  // namespace tidemill
