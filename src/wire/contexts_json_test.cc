// SPDX-License-Identifier: Apache-2.0
#include "wire/contexts_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

ContextsFile Some() {
  return {.current = "batch.example",
          .contexts = {{.name = "batch.example",
                        .server = "https://batch.example",
                        .token = "tidemill_1",
                        .token_id = "00000000-0000-0001-0000-000000000002",
                        .ca = "-----BEGIN CERTIFICATE-----\nAB==\n-----END CERTIFICATE-----\n",
                        .project = "vision"},
                       {.name = "other",
                        .server = "http://127.0.0.1:80",
                        .token = "tidemill_2",
                        .token_id = {},
                        .ca = {},
                        .project = {}}}};
}

TEST(ContextsJson, GivesBackWhatWasWritten) {
  for (const ContextsFile& file : {Some(), ContextsFile{}}) {
    const auto read = ParseContexts(FormatContexts(file));
    ASSERT_TRUE(read) << read.error().reason;
    EXPECT_EQ(*read, file);
  }
}

TEST(ContextsJson, ShowsNoTokens) {
  const std::string list = FormatContextList(Some());
  EXPECT_EQ(list.find("tidemill_"), std::string::npos) << list;
  EXPECT_EQ(list, R"({"current":"batch.example","contexts":[{"name":"batch.example",)"
                  R"("server":"https://batch.example","project":"vision",)"
                  R"("token_id":"00000000-0000-0001-0000-000000000002"},)"
                  R"({"name":"other","server":"http://127.0.0.1:80"}]})");
  const std::string signed_in = FormatSignedIn(Some().contexts[0], {});
  EXPECT_EQ(signed_in.find("tidemill_"), std::string::npos) << signed_in;
}

TEST(ContextsJson, RefusesWhatItCannotMean) {
  const std::string one = R"({"name":"a","server":"https://a","token":"t"})";
  for (const std::string& text :
       {std::string("{"), std::string("[]"), R"({"contexts":[)" + one + "," + one + "]}",
        R"({"current":"b","contexts":[)" + one + "]}",
        std::string(R"({"contexts":[{"name":"a","server":"https://a"}]})"),
        std::string(R"({"contexts":[{"name":"a","server":"https://a","token":"t","ca":1}]})")}) {
    const auto read = ParseContexts(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalid) << text;
  }
  EXPECT_TRUE(ParseContexts(R"({"contexts":[)" + one + R"(],"later":1})"));
}

}  // namespace
}  // namespace tidemill
