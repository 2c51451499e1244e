// SPDX-License-Identifier: Apache-2.0
#include "arrivals/s3_event.h"

#include <gtest/gtest.h>

#include "wire/tree.h"

namespace tidemill {
namespace {

using Objects = std::vector<ArrivedObject>;

std::string Record(const std::string& event, const std::string& key,
                   const std::string& tag = "\"eTag\":\"d41d\",") {
  return R"({"eventVersion":"2.1","awsRegion":"eu-west-1","userIdentity":null,"eventName":")" +
         event + R"(","s3":{"bucket":{"name":"in","arn":"arn:aws:s3:::in"},"object":{"key":")" +
         key + "\"," + tag + R"("size":3,"sequencer":"0055AED6DCD90281E5"}}})";
}
std::string Message(const std::string& records) { return "{\"Records\":[" + records + "]}"; }
std::string InSns(const std::string& message) {
  return R"({"Type":"Notification","TopicArn":"arn:aws:sns:eu-west-1:1:t","Message":)" +
         FormatTreeShort(Tree(Tree::Value(message))) + "}";
}
std::string ReasonOf(const std::string& body) {
  const auto got = ParseS3Event(body);
  EXPECT_FALSE(got) << body;
  return got ? "" : got.error().reason;
}

constexpr char kBridge[] =
    R"({"version":"0","source":"aws.s3","detail-type":"Object Created","detail":{"version":"0",)"
    R"("bucket":{"name":"in"},"object":{"key":"a+b%20c.png","size":5,"etag":"b1946"}}})";

TEST(S3Event, EveryRecordIsRead) {
  const std::string body = Message(Record("ObjectCreated:Put", "a.png") + "," +
                                   Record("ObjectCreated:CompleteMultipartUpload", "b.png") + "," +
                                   Record("s3:ObjectCreated:Copy", "c.png"));
  EXPECT_EQ(ParseS3Event(body).value(),
            (Objects{{"in", "a.png", "d41d"}, {"in", "b.png", "d41d"}, {"in", "c.png", "d41d"}}));
}

TEST(S3Event, KeysAreDecodedAsFormsAre) {
  const auto key_of = [](const std::string& key) {
    return ParseS3Event(Message(Record("ObjectCreated:Put", key))).value().at(0).key;
  };
  EXPECT_EQ(key_of("a+b%2Bc/%C3%A9%20%25.png"), "a b+c/\xc3\xa9 %.png");
  EXPECT_EQ(key_of("plain/~-_.(x)"), "plain/~-_.(x)");
  for (const char* key : {"a%", "a%2", "a%zz"}) {
    EXPECT_EQ(ReasonOf(Message(Record("ObjectCreated:Put", key))),
              "a key is not encoded as a form is");
  }
}

TEST(S3Event, WhatHasNotArrivedIsPassedOver) {
  for (const std::string& body :
       {Message(Record("ObjectRemoved:Delete", "a", "") + "," + Record("s3:ObjectRemoved:X", "a")),
        Message(Record("ObjectRestore:Completed", "a")), Message(""),
        std::string(R"({"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"in"})"),
        std::string(R"({"source":"aws.s3","detail-type":"Object Deleted","detail":{}})")}) {
    EXPECT_EQ(ParseS3Event(body).value(), Objects{}) << body;
  }
}

TEST(S3Event, SnsMayStandAroundIt) {
  const std::string body = Message(Record("ObjectCreated:Put", "a+b"));
  EXPECT_EQ(ParseS3Event(InSns(body)).value(), (Objects{{"in", "a b", "d41d"}}));
  EXPECT_EQ(ParseS3Event(InSns(kBridge)).value(), (Objects{{"in", "a+b%20c.png", "b1946"}}));
  EXPECT_EQ(ParseS3Event(InSns(InSns(InSns(body)))).value().size(), 1U);
  EXPECT_EQ(ReasonOf(InSns(InSns(InSns(InSns(body))))), "it is no message of S3's");
}

TEST(S3Event, EventBridgeDoesNotEncodeKeys) {
  EXPECT_EQ(ParseS3Event(kBridge).value(), (Objects{{"in", "a+b%20c.png", "b1946"}}));
}

TEST(S3Event, WhatCannotBeReadSaysWhy) {
  EXPECT_EQ(ReasonOf(""), "it is not a JSON object");
  EXPECT_EQ(ReasonOf("[]"), "it is not a JSON object");
  EXPECT_EQ(ReasonOf("{}"), "it is no message of S3's");
  EXPECT_EQ(ReasonOf(R"({"Records":{}})"), "Records is no list");
  EXPECT_EQ(ReasonOf(R"({"Records":[1]})"), "a record has no eventName");
  EXPECT_EQ(ReasonOf(Message(Record("ObjectCreated:Put", "a", ""))), "it has no ETag");
  EXPECT_EQ(ReasonOf(Message(Record("ObjectCreated:Put", ""))), "it names no key");
  EXPECT_EQ(ReasonOf(R"({"Records":[{"eventName":"ObjectCreated:Put","s3":[]}]})"),
            "it names no bucket");
  // One that cannot be read makes the whole unread: else the message would be taken away with it.
  EXPECT_EQ(ReasonOf(Message(Record("ObjectCreated:Put", "a") + "," +
                             Record("ObjectCreated:Put", "b", ""))),
            "it has no ETag");
}

TEST(S3Event, AVersionHasNoQuotes) {
  EXPECT_EQ(VersionOf("\"d41d-3\""), "d41d-3");
  EXPECT_EQ(VersionOf("1700000000"), "1700000000");
  EXPECT_EQ(VersionOf("\""), "\"");
  EXPECT_EQ(VersionOf(""), "");
}

}  // namespace
}  // namespace tidemill
