// SPDX-License-Identifier: Apache-2.0
#include "cdi/run_for_text.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Say(const std::string& script, milliseconds at_most = seconds(60)) {
  const auto text = RunForText({"/bin/sh", "-c", script}, at_most);
  return text ? *text : "error: " + text.error().reason;
}

TEST(RunForText, GivesWhatIsWrittenToStandardOutputAlone) {
  EXPECT_EQ(Say("echo a; echo b >&2; echo c"), "a\nc\n");
  EXPECT_EQ(Say("cat"), "");
  EXPECT_EQ(Say("echo $HOME$PATH"),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
}

TEST(RunForText, FailuresHaveReasons) {
  EXPECT_EQ(Say("echo a; exit 3"), "error: exit code 3");
  EXPECT_EQ(Say("kill -9 $$"), "error: signal 9");
  const auto none = RunForText({"/no/such/tool"}, seconds(60));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
  EXPECT_EQ(none.error().reason, "cannot be started: No such file or directory");
}

TEST(RunForText, NobodyIsWaitedForForEver) {
  EXPECT_EQ(Say("sleep 600", milliseconds(50)), "error: takes too long");
  // Nor for one that closed its output and stays.
  EXPECT_EQ(Say("exec >&-; sleep 600", milliseconds(50)), "error: takes too long");
  // Nor for what a tool left behind, which holds its output.
  EXPECT_EQ(Say("sleep 600 & echo a", milliseconds(50)), "error: takes too long");
}

TEST(RunForText, TooMuchIsRefused) {
  EXPECT_EQ(Say("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"),
            "error: says too much");
}

}  // namespace
}  // namespace tidemill
