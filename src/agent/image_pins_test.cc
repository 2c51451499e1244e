// SPDX-License-Identifier: Apache-2.0
#include "agent/image_pins.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class ImagePinsTest : public AgentTest {
 protected:
  ImagePinsTest() {
    link_.documents[JobId{1}] =
        R"({"image":"h:5000/a:3","command":["true"],"resources":{"cpus":1}})";
    play_.digest = [this](const std::string& image) {
      fetched_.push_back(image);
      return here_;
    };
    play_.open = [this](const ContainerSpec& spec) -> Result<void> {
      opened_.push_back(spec.image);
      return {};
    };
  }

  const std::string here_ = "sha256:" + std::string(64, 'a');
  const std::string other_ = "sha256:" + std::string(64, 'b');
  std::vector<std::string> fetched_;
  std::vector<std::string> opened_;
};

TEST_F(ImagePinsTest, TellsTheServersOnceWhatTheImageIs) {
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(5));
  EXPECT_EQ(fetched_, std::vector<std::string>{"h:5000/a:3"});
  ASSERT_EQ(link_.pins_asked.size(), 1U);
  EXPECT_EQ(link_.pins_asked[0], (std::pair(JobId{1}, here_)));
  ASSERT_FALSE(opened_.empty());
  for (const std::string& image : opened_) EXPECT_EQ(image, "h:5000/a@" + here_);
}

TEST_F(ImagePinsTest, RunsWhatTheServersSayAndNotWhatItHas) {
  link_.pin = other_;
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(5));
  ASSERT_FALSE(opened_.empty());
  for (const std::string& image : opened_) EXPECT_EQ(image, "h:5000/a@" + other_);
  EXPECT_EQ(link_.pins_asked.size(), 1U);
}

TEST_F(ImagePinsTest, AsksNobodyAboutAJobThatIsPinned) {
  link_.image_digest = other_;
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(5));
  EXPECT_TRUE(fetched_.empty());
  EXPECT_TRUE(link_.pins_asked.empty());
  ASSERT_FALSE(opened_.empty());
  EXPECT_EQ(opened_[0], "h:5000/a@" + other_);
}

TEST_F(ImagePinsTest, RunsAnImageThatIsFromNoRegistryByItsName) {
  play_.digest = [](const std::string&) { return std::string(); };
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(5));
  EXPECT_TRUE(link_.pins_asked.empty());
  ASSERT_FALSE(opened_.empty());
  for (const std::string& image : opened_) EXPECT_EQ(image, "h:5000/a:3");
}

TEST_F(ImagePinsTest, OpensNothingBeforeTheServersHaveSaidWhatCounts) {
  link_.pin = "nonsense";
  Grants(1, 0, 8);
  StartAgent();
  RunFor(seconds(5));
  EXPECT_TRUE(opened_.empty());
  EXPECT_GT(link_.pins_asked.size(), 1U);
  link_.pin.reset();
  RunFor(seconds(10));
  EXPECT_FALSE(opened_.empty());
}

}  // namespace
}  // namespace tidemill
