// SPDX-License-Identifier: Apache-2.0
#include "wire/one_item_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/spec_json.h"

namespace tidemill {
namespace {

OneItem Example() {
  OneItem item;
  item.job.id = {7};
  item.job.spec.name = "render";
  item.job.spec.document = R"({"command":["render"]})";
  item.job.state = JobState::kFinished;
  item.job.items = 12;
  item.job.project = "films";
  item.item = 3;
  item.text = "a\tb \"c\"";
  item.round = 1;
  item.attempt = 4;
  item.memory_bytes = 1 << 20;
  item.secrets = {{"key", std::string("a\0\xff", 3)}};
  item.out = "/tmp/out of it";
  item.volumes = {{"models", "/srv/models"}};
  return item;
}

TEST(OneItemJson, ComesBackAsItWas) {
  const OneItem item = Example();
  const auto again = ParseOneItem(FormatOneItem(item));
  ASSERT_TRUE(again) << again.error().reason;
  EXPECT_EQ(again->job.spec.document, item.job.spec.document);
  EXPECT_EQ(PublicId(again->job), "render-7");
  EXPECT_EQ(again->job.items, 12);
  EXPECT_EQ(again->job.project, "films");
  OneItem same = *again;
  same.job = item.job;
  EXPECT_EQ(same, item);
}

TEST(OneItemJson, WhatIsNoLeaseIsRefused) {
  EXPECT_FALSE(ParseOneItem(""));
  EXPECT_FALSE(ParseOneItem("{}"));
  std::string text = FormatOneItem(Example());
  text.replace(text.find("\"attempt\":4"), 11, "\"attempt\":0");
  EXPECT_FALSE(ParseOneItem(text));
}

TEST(OneItemJson, AnEndComesBackAsItWas) {
  OneEnd end;
  Outcome& outcome = end.outcome.emplace();
  outcome.item = 3;
  outcome.attempt = 2;
  outcome.cause = Cause::kOutOfMemory;
  outcome.exit = 137;
  outcome.memory_bytes = 5;
  EXPECT_EQ(ParseOneEnd(FormatOneEnd(end)).value(), end);
  const OneEnd unbegun{.outcome = {}, .reason = "no such image"};
  EXPECT_EQ(ParseOneEnd(FormatOneEnd(unbegun)).value(), unbegun);
}

TEST(OneItemJson, AShellTakesTheCommandsPlaceAndHasNoEndOfTime) {
  const auto edited = EditForHere(
      R"({"command":["a"],"env":{"X":"y"},"mode":"loop","timeout":5,"resources":{"memory":9}})",
      {.millicpus = 500, .command = {"/bin/sh", "-c", "wait"}});
  ASSERT_TRUE(edited);
  const auto spec = ParseSpec(*edited);
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->run.entrypoint.value(), (std::vector<std::string>{"/bin/sh", "-c", "wait"}));
  EXPECT_FALSE(spec->run.command);
  EXPECT_EQ(spec->run.mode, Mode::kProcess);
  EXPECT_EQ(spec->run.timeout.count(), 0);
  EXPECT_EQ(spec->run.env.at("X"), "y");
  EXPECT_EQ(spec->job.resources.millicpus, 500);
  EXPECT_EQ(spec->job.resources.memory_bytes, 9);
}

TEST(OneItemJson, WithoutEditsASpecStays) {
  EXPECT_EQ(EditForHere(R"({"command":["a"]})", {}).value(), R"({"command":["a"]})");
  EXPECT_EQ(EditForHere(R"({"resources":"machine"})", {.millicpus = 1000, .command = {}}).value(),
            R"({"resources":"machine"})");
}

}  // namespace
}  // namespace tidemill
