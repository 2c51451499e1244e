// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/answers.h"

#include <gtest/gtest.h>

#include "provider/gcp/requests.h"

namespace tidemill {
namespace {

Tree Read(const char* text) { return *ParseTree(text); }

TEST(GcpAnswers, TimesHaveAnOffset) {
  const auto utc = ParseGoogleTime("2026-05-01T12:03:44.123Z");
  ASSERT_TRUE(utc);
  EXPECT_EQ(utc->time_since_epoch(), std::chrono::milliseconds(1'777'637'024'123));
  EXPECT_EQ(ParseGoogleTime("2026-05-01T05:03:44.123-07:00"), utc);
  EXPECT_EQ(ParseGoogleTime("2026-05-01T17:33:44.123+05:30"), utc);
  for (const char* wrong : {"", "today", "2026-05-01T12:03:44.123", "2026-05-01T12:03:44-0700",
                            "2026-05-01T12:03:44.123-xx:00", "-07:00"}) {
    EXPECT_FALSE(ParseGoogleTime(wrong)) << wrong;
  }
}

TEST(GcpAnswers, AnOperationSaysWhatItDidToWhomAndHowItEnded) {
  const auto operation = ParseOperation(Read(R"({"name":"operation-1","operationType":"insert",
      "targetLink":"https://x/zones/z/instances/tm-1","status":"DONE","progress":100,
      "insertTime":"2026-05-01T05:03:44.000-07:00","endTime":"2026-05-01T05:03:45.000-07:00",
      "error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"Quota 'CPUS' exceeded."}]}})"));
  ASSERT_TRUE(operation);
  EXPECT_TRUE(operation->done);
  EXPECT_EQ(operation->target, "tm-1");
  EXPECT_EQ(operation->ended - operation->begun, std::chrono::seconds(1));
  const auto result = OperationResult(*operation);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kExhausted);
  EXPECT_EQ(result.error().reason, "QUOTA_EXCEEDED: Quota 'CPUS' exceeded.");
  EXPECT_FALSE(ParseOperation(Read("{}")));
}

TEST(GcpAnswers, AManagedInstanceMayHaveFailed) {
  const auto managed = ParseManaged(Read(R"({"instance":"https://x/zones/z/instances/tm-1",
      "currentAction":"CREATING","lastAttempt":{"errors":{"errors":[
      {"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"none left"}]}}})"));
  ASSERT_TRUE(managed);
  EXPECT_EQ(managed->name, "tm-1");
  EXPECT_EQ(managed->status, "");
  ASSERT_TRUE(managed->fault);
  EXPECT_EQ(FaultWords(*managed->fault), "ZONE_RESOURCE_POOL_EXHAUSTED: none left");
  EXPECT_FALSE(ParseManaged(Read(R"({"instance":"https://x/a","lastAttempt":{}})"))->fault);
  EXPECT_FALSE(ParseManaged(Read("{}")));
  EXPECT_FALSE(ParseInstance(Read(R"({"name":"a"})")));
}

TEST(GcpAnswers, AStatusIsReadWithItsReason) {
  const auto error = [](int status, const std::string& reason) {
    return ErrorOf(status,
                   R"({"error":{"message":"words","errors":[{"reason":")" + reason + R"("}]}})");
  };
  EXPECT_EQ(error(403, "forbidden").code, Code::kForbidden);
  EXPECT_EQ(error(403, "rateLimitExceeded").code, Code::kUnavailable);
  EXPECT_EQ(error(403, "quotaExceeded").code, Code::kExhausted);
  EXPECT_EQ(error(401, "authError").code, Code::kForbidden);
  EXPECT_EQ(error(404, "notFound").code, Code::kNotFound);
  EXPECT_EQ(error(409, "alreadyExists").code, Code::kConflict);
  EXPECT_EQ(error(412, "conditionNotMet").code, Code::kConflict);
  EXPECT_EQ(error(400, "resourceInUseByAnotherResource").code, Code::kConflict);
  EXPECT_EQ(error(400, "invalid").code, Code::kInvalid);
  EXPECT_EQ(error(503, "backendError").code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(429, "<html>").code, Code::kUnavailable);
  EXPECT_EQ(error(404, "notFound").reason, "Google answers 404, words");
}

TEST(GcpRequests, ATemplateSaysAllThatThePoolSays) {
  PoolSettings settings;
  settings.pool.project = "Films";
  settings.pool.name = "spot";
  settings.machines.spot = true;
  GcpPool pool{.project = "acme", .zone = "europe-west4-a", .type = "g2-standard-8"};
  pool.image = "family/x";
  pool.disk_gb = 100;
  pool.subnet = "machines";
  pool.service_account = "a@acme";
  pool.user_data = "#cloud-config\n";
  pool.labels = {{"team", "films"}};
  pool.accelerator_type = "nvidia-l4";
  pool.accelerator_count = 2;
  const GcpNames names("Films", "spot");
  const GcpTemplate made = TemplateFor(settings, pool, names);
  const std::string text = FormatTreeShort(made.body);
  for (const char* part :
       {R"("machineType": "g2-standard-8")", R"("diskSizeGb": "100")",
        R"("sourceImage": "family/x")",
        R"("subnetwork": "projects/acme/regions/europe-west4/subnetworks/machines")",
        R"("provisioningModel": "SPOT")", R"("instanceTerminationAction": "DELETE")",
        R"("automaticRestart": false)", R"("key": "user-data", "value": "#cloud-config\n")",
        R"("team": "films", "tidemill-pool": "spot", "tidemill-project": "films")",
        R"("email": "a@acme")", R"("acceleratorType": "nvidia-l4", "acceleratorCount": 2)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  }
  EXPECT_EQ(TemplateFor(settings, pool, names).name, made.name);
  settings.machines.spot = false;
  EXPECT_NE(TemplateFor(settings, pool, names).name, made.name);
}

}  // namespace
}  // namespace tidemill
