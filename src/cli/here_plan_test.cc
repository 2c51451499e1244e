// SPDX-License-Identifier: Apache-2.0
#include "cli/here_plan.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

OneEnd EndWith(Cause cause, int exit) {
  OneEnd end;
  end.outcome.emplace();
  end.outcome->cause = cause;
  end.outcome->exit = exit;
  return end;
}

TEST(HerePlan, AnItemsExitIsOurs) {
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kSucceeded, 0)), 0);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kFailed, 3)), 3);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kFailed, 0)), 1);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kTimeout, 143)), 124);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kOutOfMemory, 1)), 137);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kRejectedOutput, 0)), 1);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kInterrupted, 143)), 130);
  EXPECT_EQ(ExitOfEnd(EndWith(Cause::kMachineFault, 137)), 125);
  EXPECT_EQ(ExitOfEnd({.outcome = {}, .reason = "no such image"}), 125);
}

TEST(HerePlan, AnEndIsToldInOneLine) {
  OneEnd end = EndWith(Cause::kFailed, 3);
  end.outcome->duration_ms = 1200;
  end.outcome->memory_bytes = 14 << 20;
  EXPECT_EQ(OutcomeText(*end.outcome), "exit 3, after 1.2 s, 14 MiB at most");
  end = EndWith(Cause::kOutOfMemory, 137);
  EXPECT_EQ(OutcomeText(*end.outcome), "out of memory, after 0 ms");
}

class SecretsForTest : public ::testing::Test {
 protected:
  SecretsForTest() { run_.secrets = {{"api-key", "API_KEY", ""}, {"cert", "", "cert.pem"}}; }
  auto Ask(const std::vector<std::string>& told) {
    return SecretsFor(
        run_, told,
        [this](const std::string& name) -> std::optional<std::string> {
          const auto found = env_.find(name);
          return found == env_.end() ? std::nullopt : std::optional(found->second);
        },
        [](const std::string& file) -> std::optional<std::string> {
          return file == "none" ? std::nullopt : std::optional("of " + file);
        });
  }
  RunSpec run_;
  std::map<std::string, std::string> env_;
};

TEST_F(SecretsForTest, ComeFromFilesOrVariables) {
  env_ = {{"API_KEY", "k"}};
  using Values = std::map<std::string, std::string>;
  EXPECT_EQ(Ask({"cert=c.pem"}).value(), (Values{{"api-key", "k"}, {"cert", "of c.pem"}}));
  env_ = {{"API_KEY", "k"}, {"cert", "c"}, {"api-key", "better"}};
  EXPECT_EQ(Ask({}).value(), (Values{{"api-key", "better"}, {"cert", "c"}}));
}

TEST_F(SecretsForTest, OneThatIsMissingIsNamed) {
  const auto none = Ask({"cert=c.pem"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason,
            "the job has the secret 'api-key', which servers tell nobody; give it with --secret "
            "api-key=FILE, or in the variable API_KEY");
  EXPECT_FALSE(Ask({"api-key=none", "cert=c"}));
  EXPECT_FALSE(Ask({"api-key=a", "cert=c", "other=o"}));
  EXPECT_FALSE(Ask({"api-key"}));
}

TEST_F(SecretsForTest, TheLoginOfItsImageIsOne) {
  run_.secrets.clear();
  run_.image_login = "registry";
  EXPECT_FALSE(Ask({}));
  EXPECT_TRUE(Ask({"registry=login"}));
}

TEST(HerePlan, EveryVolumeHasAFolder) {
  RunSpec run;
  run.mounts = {{"models", "/models", true}};
  using Folders = std::map<std::string, std::string>;
  EXPECT_EQ(VolumesFor(run, {"models=/srv"}).value(), (Folders{{"models", "/srv"}}));
  const auto none = VolumesFor(run, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().reason.find("--volume models=FOLDER"), std::string::npos);
  EXPECT_FALSE(VolumesFor(run, {"models"}));
}

TEST(HerePlan, MemoryIsAStepThatHeldWhatWasUsed) {
  EXPECT_EQ(MemoryOf(100, 0, 100), 100);
  EXPECT_EQ(MemoryOf(100, 0, 500), 100);
  EXPECT_EQ(MemoryOf(100, 700, 90), 100);
  EXPECT_EQ(MemoryOf(100, 700, 200), 200);
  EXPECT_EQ(MemoryOf(100, 700, 201), 200);
  EXPECT_EQ(MemoryOf(100, 700, 230), 400);
  EXPECT_EQ(MemoryOf(100, 700, 650), 700);
  EXPECT_EQ(MemoryOf(0, 0, 650), 0);
}

}  // namespace
}  // namespace tidemill::cli
