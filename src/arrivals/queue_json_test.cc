// SPDX-License-Identifier: Apache-2.0
#include "arrivals/queue_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Messages = std::vector<ArrivalMessage>;

TEST(QueueJson, SqsGivesMessagesOrNone) {
  const std::string body =
      R"({"Messages":[{"ReceiptHandle":"r1","Body":"{\"Event\":\"s3:TestEvent\"}"},)"
      R"({"MessageId":"2","ReceiptHandle":"r2","Body":"hello"},{"ReceiptHandle":"r3","Body":)"
      R"("{\"Records\":[{\"eventName\":\"ObjectCreated:Put\",\"s3\":{\"bucket\":{\"name\":\"b\"},)"
      R"(\"object\":{\"key\":\"k+1\",\"eTag\":\"e\"}}}]}"}]})";
  EXPECT_EQ(ParseSqsMessages(body).value(),
            (Messages{{.handle = "r1"},
                      {.handle = "r2", .unread = "it is not a JSON object"},
                      {.handle = "r3", .objects = {{"b", "k 1", "e"}}}}));
  EXPECT_EQ(ParseSqsMessages("{}").value(), Messages{});
  for (const char* wrong : {"", "[]", R"({"Messages":1})", R"({"Messages":[{}]})"}) {
    EXPECT_FALSE(ParseSqsMessages(wrong)) << wrong;
  }
}

TEST(QueueJson, SqsIsAskedInItsWords) {
  EXPECT_EQ(FormatSqsReceive({.queue_url = "u", .most = 10, .wait_s = 20, .hidden_s = 60}),
            R"({"QueueUrl": "u", "MaxNumberOfMessages": 10, "WaitTimeSeconds": 20, )"
            R"("VisibilityTimeout": 60})");
  EXPECT_EQ(FormatSqsDelete("u", {"r1", "r\"2"}),
            R"({"QueueUrl": "u", "Entries": [{"Id": "0", "ReceiptHandle": "r1"}, )"
            R"({"Id": "1", "ReceiptHandle": "r\"2"}]})");
  EXPECT_EQ(ParseSqsFailed(R"({"Successful":[{"Id":"0"}],"Failed":[{"Id":"1"}]})").value(), 1U);
  EXPECT_EQ(ParseSqsFailed(R"({"Successful":[{"Id":"0"}]})").value(), 0U);
}

TEST(QueueJson, PubSubSaysWhatArrivedInAttributes) {
  const std::string body =
      R"({"receivedMessages":[{"ackId":"a1","message":{"data":"e30=","attributes":{"eventType":)"
      R"("OBJECT_FINALIZE","bucketId":"b","objectId":"x y+%20","objectGeneration":"17"}}},)"
      R"({"ackId":"a2","message":{"attributes":{"eventType":"OBJECT_DELETE"}}},)"
      R"({"ackId":"a3","message":{"data":"aGVsbG8="}},)"
      R"({"ackId":"a4","message":{"attributes":{"eventType":"OBJECT_FINALIZE","bucketId":"b"}}}]})";
  EXPECT_EQ(
      ParsePulled(body).value(),
      (Messages{{.handle = "a1", .objects = {{"b", "x y+%20", "17"}}},
                {.handle = "a2"},
                {.handle = "a3", .unread = "it is no message of Cloud Storage"},
                {.handle = "a4", .unread = "it names no bucket, no object or no generation"}}));
  EXPECT_EQ(ParsePulled("{}").value(), Messages{});
  EXPECT_FALSE(ParsePulled(R"({"receivedMessages":[{"message":{}}]})"));
  EXPECT_EQ(FormatPull(100), R"({"maxMessages": 100})");
  EXPECT_EQ(FormatAcknowledge({"a1", "a2"}), R"({"ackIds": ["a1", "a2"]})");
}

}  // namespace
}  // namespace tidemill
