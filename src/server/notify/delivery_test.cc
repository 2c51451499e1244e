// SPDX-License-Identifier: Apache-2.0
#include "server/notify/delivery.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

DueNotification Due(std::int32_t tries = 1, Duration age = {}) {
  DueNotification due;
  due.id = {0, 7};
  due.event = JobEvent::kFailed;
  due.body = "{}";
  due.tries = tries;
  due.age = age;
  return due;
}

// Made with: printf '1700000000.{}' | openssl dgst -sha256 -hmac key
TEST(Delivery, IsSignedWithTheTimeAndTheBody) {
  EXPECT_EQ(SignatureOf("key", 1'700'000'000, "{}"),
            "t=1700000000,v1=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae");
}

TEST(Delivery, SaysWhatItIsAndWhichItIs) {
  const HttpCall call = CallOf(Due(), "/a?b", "key", 1);
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.target, "/a?b");
  EXPECT_EQ(call.content_type, "application/json");
  EXPECT_EQ(call.body, "{}");
  EXPECT_EQ(call.timeout, seconds(10));
  EXPECT_EQ(*FindField(call.headers, "Tidemill-Event"), "failed");
  EXPECT_EQ(*FindField(call.headers, "Tidemill-Delivery"), "00000000-0000-0000-0000-000000000007");
  EXPECT_EQ(*FindField(call.headers, "Tidemill-Signature"), SignatureOf("key", 1, "{}"));
  EXPECT_EQ(FindField(CallOf(Due(), "/", std::nullopt, 1).headers, "Tidemill-Signature"), nullptr);
}

TEST(Delivery, IsDeliveredByAnyGoodAnswerAndNoOther) {
  for (const int status : {200, 201, 202, 204, 299}) {
    EXPECT_EQ(EndOf(Due(), HttpResponse{.status = status}).state, NotificationState::kDelivered);
  }
  for (const int status : {101, 300, 302, 400, 401, 404, 410, 429, 500, 503}) {
    EXPECT_EQ(EndOf(Due(), HttpResponse{.status = status}).state, NotificationState::kDue);
  }
  EXPECT_EQ(EndOf(Due(), HttpResponse{.status = 302, .body = "x"}).error,
            "it answers 302; redirects are not followed");
  EXPECT_EQ(EndOf(Due(), HttpResponse{.status = 500, .body = "no\x01 room\nhere"}).error,
            "it answers 500: no? room");
  EXPECT_EQ(EndOf(Due(), Result<HttpResponse>(Fail(Code::kUnavailable, "refused"))).error,
            "refused");
}

TEST(Delivery, WaitsTwiceAsLongEachTimeAndGivesUpInTheEnd) {
  const HttpResponse bad{.status = 500};
  EXPECT_EQ(EndOf(Due(1), bad).again_in, seconds(1));
  EXPECT_EQ(EndOf(Due(2), bad).again_in, seconds(2));
  EXPECT_EQ(EndOf(Due(11), bad).again_in, seconds(1024));
  EXPECT_EQ(EndOf(Due(19), bad).again_in, hours(1));
  EXPECT_EQ(EndOf(Due(19), bad).state, NotificationState::kDue);
  EXPECT_EQ(EndOf(Due(20), bad).state, NotificationState::kGivenUp);
  EXPECT_EQ(EndOf(Due(14, hours(23)), bad).state, NotificationState::kDue);
  EXPECT_EQ(EndOf(Due(14, hours(23) + seconds(1)), bad).state, NotificationState::kGivenUp);
}

TEST(Delivery, WhatMayNotBeCalledIsNotTriedAgain) {
  const auto failed = [](Code code) {
    return EndOf(Due(), Result<HttpResponse>(Fail(code, "x"))).state;
  };
  EXPECT_EQ(failed(Code::kForbidden), NotificationState::kGivenUp);
  EXPECT_EQ(failed(Code::kInvalid), NotificationState::kGivenUp);
  EXPECT_EQ(failed(Code::kUnknown), NotificationState::kDue);
  EXPECT_EQ(failed(Code::kNotFound), NotificationState::kDue);
}

}  // namespace
}  // namespace tidemill
