// SPDX-License-Identifier: Apache-2.0
#include "wire/pin_json.h"

#include <gtest/gtest.h>

#include "wire/job_json.h"

namespace tidemill {
namespace {

const std::string kDigits(64, 'a');

TEST(PinJson, ADigestIsReadAsItWasWritten) {
  EXPECT_EQ(ParsePin(FormatPin("sha256:" + kDigits)).value(), "sha256:" + kDigits);
  EXPECT_EQ(ParsePin(R"({"later":1,"digest":"sha256:)" + kDigits + "\"}").value(),
            "sha256:" + kDigits);
}

TEST(PinJson, NothingElseIsADigest) {
  for (const std::string& text :
       {std::string(), std::string("sha256:"), kDigits, "sha512:" + kDigits,
        "sha256:" + kDigits + "a", "sha256:" + kDigits.substr(1), "SHA256:" + kDigits,
        "sha256:" + kDigits.substr(1) + "A", "sha256:" + kDigits.substr(1) + "/"}) {
    const auto parsed = ParsePin(FormatPin(text));
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kInvalid);
  }
  for (const char* body : {"", "{}", "[]", "null", R"({"digest":null})", R"({"digest":7})"}) {
    EXPECT_FALSE(ParsePin(body)) << body;
  }
}

TEST(PinJson, AJobComesWithItsDigest) {
  Job job;
  job.id = {7};
  job.spec.name = "a";
  job.spec.document = "{}";
  EXPECT_EQ(ParseJob(FormatJob(job)).value().image_digest, "");
  job.image_digest = "sha256:" + kDigits;
  EXPECT_EQ(ParseJob(FormatJob(job)).value().image_digest, job.image_digest);
  EXPECT_EQ(ParseImageNote(FormatMadeJob(job, "")).value(), "");
  EXPECT_EQ(ParseImageNote(FormatMadeJob(job, "r \"wants\" a login")).value(),
            "r \"wants\" a login");
  EXPECT_EQ(ParseImageNote(FormatMadeJob(job, std::string(9'999, 'x'))).value(),
            std::string(500, 'x'));
  EXPECT_EQ(FormatMadeJob(job, ""), FormatJob(job));
  job.image_digest = "latest";
  EXPECT_FALSE(ParseJob(FormatJob(job)));
}

}  // namespace
}  // namespace tidemill
