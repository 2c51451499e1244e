// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <optional>
#include <set>

#include "arrivals/fake_queue.h"
#include "arrivals/pubsub_queue.h"
#include "arrivals/queue_contract.h"
#include "arrivals/sqs_queue.h"
#include "arrivals/tree_fields.h"
#include "base/digest.h"
#include "base/virtual_loop.h"
#include "cloud/cloud_fixture.h"
#include "cloud/sigv4.h"

namespace tidemill {
namespace {

using std::chrono::seconds;
using Messages = std::vector<ArrivalMessage>;

std::string QuotedText(const std::string& text) { return FormatTreeShort(Tree(Tree::Value(text))); }

class ArrivalQueueTest : public CloudFixture {
 protected:
  ArrivalQueueTest() {
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
    world_.environment["AWS_REGION"] = "eu-west-1";
    world_.environment["GCE_METADATA_HOST"] = Host();
    world_.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB"] = Url();
  }
  Result<Messages> Receive(ArrivalQueue& queue) {
    return Await<Messages>([&](auto done) { queue.Receive(done); });
  }
  Result<void> Delete(ArrivalQueue& queue, const std::vector<std::string>& handles) {
    return Await<void>([&](auto done) { queue.Delete(handles, done); });
  }
  QueueUnderTest UnderTest(ArrivalQueue& queue) {
    return {.receive = [&] { return Receive(queue); },
            .remove = [&](auto handles) { return Delete(queue, handles); },
            .full = queue.full()};
  }
  // The code of what SQS is answered so.
  Code SqsCodeFor(int status, const std::string& body) {
    play_ = [=](const HttpRequest&) -> HttpResponse { return {.status = status, .body = body}; };
    SqsQueue queue(loop_, world_, FindSqsPlace(world_, Url() + "/1/q").value());
    return Receive(queue).error().code;
  }
};

TEST(FakeQueueTest, IsAQueue) {
  SeededRandom random{1};
  VirtualLoop loop{random};
  FakeQueue queue{loop};
  const auto await = [&loop](auto start, auto result) {
    start([&result](auto got) { result = std::move(got); });
    while (!result && loop.Step()) {
    }
    return *std::move(result);
  };
  ExpectQueueContract(
      {.put = [&](const ArrivedObject& object) { queue.Put({.objects = {object}}); },
       .put_unreadable = [&] { queue.Put({.unread = "no"}); },
       .receive =
           [&] {
             return await([&](auto done) { queue.Receive(done); },
                          std::optional<Result<Messages>>());
           },
       .remove =
           [&](auto handles) {
             return await([&](auto done) { queue.Delete(handles, done); },
                          std::optional<Result<void>>());
           },
       .left = [&] { return queue.waiting.size() + queue.hidden.size(); },
       .full = queue.full()});
}

TEST_F(ArrivalQueueTest, SqsIsAskedWithASignatureForItsRegion) {
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    const AwsSigned expected =
        SignAws({.method = "POST",
                 .host = Host(),
                 .headers = {{"Content-Type", "application/x-amz-json-1.0"},
                             {"X-Amz-Target", "AmazonSQS.ReceiveMessage"}},
                 .payload = Hex(Sha256(request.body))},
                {.id = "AK", .secret = "SK"}, {.region = "us-east-2", .service = "sqs"}, now_ms_);
    const bool is_signed =
        HeaderOf(request, "Authorization") == *FindField(expected.headers, "Authorization");
    return {.status = is_signed ? 200 : 403, .body = is_signed ? "{}" : request.body};
  };
  world_.environment["AWS_ENDPOINT_URL_SQS"] = Url();
  const auto place = FindSqsPlace(world_, "https://sqs.us-east-2.amazonaws.com/123/arrivals");
  SqsQueue queue(loop_, world_, place.value());
  const auto got = Receive(queue);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, Messages{});
}

TEST_F(ArrivalQueueTest, SqsIsFoundByItsUrl) {
  const auto region_of = [this](const std::string& url) {
    return FindSqsPlace(world_, url).value().region;
  };
  EXPECT_EQ(region_of("https://sqs.us-east-2.amazonaws.com/1/q"), "us-east-2");
  EXPECT_EQ(region_of("https://sqs.cn-north-1.amazonaws.com.cn/1/q"), "cn-north-1");
  EXPECT_EQ(region_of("https://us-west-1.queue.amazonaws.com/1/q"), "us-west-1");
  EXPECT_EQ(region_of("https://vpce-1.sqs.eu-north-1.vpce.amazonaws.com/1/q"), "eu-north-1");
  EXPECT_EQ(region_of(Url() + "/1/q"), "eu-west-1");
  for (const char* url : {"", "arrivals", "https://sqs.us-east-2.amazonaws.com",
                          "https://sqs.us-east-2.amazonaws.com/q", "http://192.0.2.1/1/q"}) {
    EXPECT_EQ(FindSqsPlace(world_, url).error().code, Code::kInvalid) << url;
  }
  world_.environment.erase("AWS_REGION");
  EXPECT_FALSE(FindSqsPlace(world_, Url() + "/1/q"));
}

TEST_F(ArrivalQueueTest, WhatSqsRefusesHasItsCode) {
  EXPECT_EQ(SqsCodeFor(400, R"({"__type":"com.amazonaws.sqs#QueueDoesNotExist"})"),
            Code::kNotFound);
  EXPECT_EQ(SqsCodeFor(400, R"({"__type":"AccessDeniedException","Message":"no"})"),
            Code::kForbidden);
  EXPECT_EQ(SqsCodeFor(403, "{}"), Code::kForbidden);
  EXPECT_EQ(SqsCodeFor(400, R"({"__type":"ThrottlingException"})"), Code::kUnavailable);
  EXPECT_EQ(SqsCodeFor(503, ""), Code::kUnavailable);
  EXPECT_EQ(SqsCodeFor(400, R"({"__type":"InvalidParameterValue"})"), Code::kInvalid);
}

TEST_F(ArrivalQueueTest, SqsSaysWhatItKept) {
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    // moto takes what is not this, too.
    EXPECT_EQ(HeaderOf(request, "X-Amz-Target"), "AmazonSQS.DeleteMessageBatch");
    return {.body = seen_.size() == 1 ? R"({"Failed":[{"Id":"0"}]})" : R"({"Failed":[]})"};
  };
  SqsQueue queue(loop_, world_, FindSqsPlace(world_, Url() + "/1/q").value());
  const std::vector<std::string> handles(25, "r");
  EXPECT_FALSE(Delete(queue, handles));
  EXPECT_EQ(seen_.size(), 3U);
  EXPECT_TRUE(Delete(queue, handles));
}

// --- with moto ---

class SqsMotoTest : public ArrivalQueueTest {
 protected:
  SqsMotoTest() : web_(loop_, {}) {
    const char* const url = getenv("TIDEMILL_TEST_AWS");
    if (url == nullptr) throw std::runtime_error("run under tools/with_moto.py");
    endpoint_ = ParseWebUrl(url).value();
    world_.environment["AWS_ENDPOINT_URL"] = url;
  }
  // moto believes any signature, but reads the region in it.
  std::string Ask(const std::string& action, const std::string& body) {
    HttpCall call{.method = "POST", .body = body};
    AwsSigned made =
        SignAws({.method = "POST",
                 .host = Authority(endpoint_.origin),
                 .headers = {{"Content-Type", "application/x-amz-json-1.0"},
                             {"X-Amz-Target", "AmazonSQS." + action}},
                 .payload = Hex(Sha256(body))},
                {.id = "AK", .secret = "SK"}, {.region = "eu-west-1", .service = "sqs"}, now_ms_);
    call.target = std::move(made.target);
    call.headers = std::move(made.headers);
    const auto got = Await<HttpResponse>(
        [&](auto done) { web_.Send(endpoint_.origin, call, {.most = 1}, done); });
    EXPECT_EQ(got.value().status, 200) << got.value().body;
    return got.value().body;
  }
  void Send(const std::string& url, const std::string& message) {
    Ask("SendMessage",
        R"({"QueueUrl":")" + url + R"(","MessageBody":)" + QuotedText(message) + "}");
  }

  std::size_t Left(const std::string& url) {
    const std::string told =
        Ask("GetQueueAttributes", R"({"QueueUrl":")" + url + R"(","AttributeNames":["All"]})");
    const auto tree = ParseTree(told).value();
    std::size_t left = 0;
    const Tree& attributes = FieldOrNone(tree, "Attributes");
    for (const char* which : {"", "NotVisible"}) {
      left += std::stoul(TextIn(attributes, std::string("ApproximateNumberOfMessages") + which));
    }
    return left;
  }

  Web web_;
  WebUrl endpoint_;
};

TEST_F(SqsMotoTest, IsAQueue) {
  const std::string made = Ask("CreateQueue", R"({"QueueName":"arrivals"})");
  const std::string url = TextIn(ParseTree(made).value(), "QueueUrl");
  SqsQueue queue(loop_, world_, FindSqsPlace(world_, url).value(), seconds(0));
  QueueUnderTest under_test = UnderTest(queue);
  under_test.put = [&](const ArrivedObject& object) {
    std::string key;
    for (const char c : object.key) key += c == ' ' ? "+" : PercentEncode(std::string(1, c));
    Send(url, R"({"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":")" +
                  object.bucket + R"("},"object":{"key":")" + key + R"(","eTag":")" +
                  object.version + R"("}}}]})");
  };
  under_test.put_unreadable = [&] { Send(url, "hello"); };
  under_test.left = [&] { return Left(url); };
  ExpectQueueContract(under_test);
}

TEST_F(SqsMotoTest, TellsThatThereIsNoSuchQueue) {
  const std::string url = "http://127.0.0.1:1/123456789012/none";
  SqsQueue queue(loop_, world_, FindSqsPlace(world_, url).value(), seconds(0));
  const auto got = Receive(queue);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound) << got.error().reason;
}

// --- Pub/Sub, whose own emulator needs Java: what its REST interface documents is played here ---

class PubSubTest : public ArrivalQueueTest {
 protected:
  PubSubTest() {
    play_ = [this](const HttpRequest& request) { return Play(request); };
  }
  HttpResponse Play(const HttpRequest& request) {
    if (request.path.starts_with("/computeMetadata/")) {
      return {.body = R"({"access_token":"ya29.1","expires_in":3599,"token_type":"Bearer"})"};
    }
    if (HeaderOf(request, "Authorization") != "Bearer ya29.1") return {.status = 401};
    if (request.path == "/v1/projects/p/subscriptions/s:pull") return Pull();
    if (request.path == "/v1/projects/p/subscriptions/s:acknowledge") {
      const Tree body = ParseTree(request.body).value();
      for (const Tree& id : std::get<Tree::List>(FieldOrNone(body, "ackIds").value)) {
        out_.erase(std::get<std::string>(id.value));
      }
      return {.body = "{}"};
    }
    return {.status = 404,
            .body = R"({"error":{"code":404,"message":"Resource not found (resource=x)."}})"};
  }
  HttpResponse Pull() {
    std::string body;
    for (int i = 0; i < PubSubQueue::kMost && !waiting_.empty(); ++i) {
      out_.insert(std::to_string(given_ + 1));
      body += std::string(body.empty() ? "" : ",") + R"({"ackId":")" + std::to_string(++given_) +
              R"(","message":)" + waiting_.front() + "}";
      waiting_.pop_front();
    }
    return {.body = body.empty() ? "{}" : "{\"receivedMessages\":[" + body + "]}"};
  }

  std::deque<std::string> waiting_;
  std::set<std::string> out_;  // given, and not acknowledged
  int given_ = 0;
};

TEST_F(PubSubTest, IsAQueue) {
  const auto place = FindPubSubPlace(world_, "projects/p/subscriptions/s");
  PubSubQueue queue(loop_, world_, place.value());
  QueueUnderTest under_test = UnderTest(queue);
  under_test.put = [&](const ArrivedObject& object) {
    waiting_.push_back(R"({"attributes":{"eventType":"OBJECT_FINALIZE","bucketId":")" +
                       object.bucket + R"(","objectId":")" + object.key +
                       R"(","objectGeneration":")" + object.version + R"("}})");
  };
  under_test.put_unreadable = [&] { waiting_.emplace_back(R"({"data":"aGVsbG8="})"); };
  under_test.left = [&] { return waiting_.size() + out_.size(); };
  ExpectQueueContract(under_test);
}

TEST_F(PubSubTest, IsFoundByItsName) {
  const auto none = FindPubSubPlace(world_, "projects/p/subscriptions/none");
  PubSubQueue queue(loop_, world_, none.value());
  const auto got = Receive(queue);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
  EXPECT_EQ(got.error().reason, "Pub/Sub answers 404, Resource not found (resource=x).");
  for (const char* name : {"", "s", "projects/p", "projects//subscriptions/s",
                           "projects/p/subscriptions/s/t", "projects/p/subscriptions/s?x"}) {
    EXPECT_FALSE(FindPubSubPlace(world_, name)) << name;
  }
}

}  // namespace
}  // namespace tidemill
