// SPDX-License-Identifier: Apache-2.0
#include "cli/env_folder.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

class EnvFolderTest : public testing::Test {
 protected:
  EnvFolderTest() {
    std::string name = testing::TempDir() + "/tidemill-env-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~EnvFolderTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((fs::path(folder_) / name).parent_path());
    std::ofstream(fs::path(folder_) / name) << text;
  }
  std::string Inputs() {
    const auto loaded = LoadEnvFolder(folder_);
    EXPECT_TRUE(loaded) << loaded.error().reason;
    return loaded ? loaded->inputs : "";
  }
  std::string WhyNot() {
    const auto loaded = LoadEnvFolder(folder_);
    return loaded ? "" : loaded.error().reason;
  }

  std::string folder_;
};

TEST_F(EnvFolderTest, WhatDecidesOnPackagesDecidesOnTheLock) {
  Write("tidemill-env.yaml", "name: films\nfrom: requirements.txt\n");
  Write("requirements.txt", "-r env/more.txt\nnumpy\n");
  Write("env/more.txt", "-c caps.txt\n");
  Write("env/caps.txt", "scipy<2\n");
  const std::string first = Inputs();
  Write("main.py", "print(1)\n");
  EXPECT_EQ(Inputs(), first) << "code does not";
  Write("env/caps.txt", "scipy<3\n");
  const std::string second = Inputs();
  EXPECT_NE(second, first);
  Write("tidemill-env.yaml", "name: other\nfrom: requirements.txt\n");
  EXPECT_EQ(Inputs(), second) << "nor does its name";
  Write("tidemill-env.yaml", "name: films\nfrom: requirements.txt\napt: [ffmpeg]\n");
  EXPECT_NE(Inputs(), second);
}

TEST_F(EnvFolderTest, FilesThatTakeInEachOtherAreReadOnce) {
  Write("tidemill-env.yaml", "name: films\nfrom: requirements.txt\n");
  Write("requirements.txt", "-r more.txt\n");
  Write("more.txt", "-r requirements.txt\n");
  EXPECT_EQ(Inputs().size(), 64U);
}

TEST_F(EnvFolderTest, WhatIsMissingOrWrongIsNamed) {
  EXPECT_EQ(WhyNot(),
            "there is no " + folder_ + "/tidemill-env.yaml; 'tidemill env init' makes one");
  Write("tidemill-env.yaml", "name: films\nfrom: requirements.txt\n");
  EXPECT_EQ(WhyNot(), folder_ + "/requirements.txt is not there, or cannot be read");
  Write("requirements.txt", "numpy\n");
  Write("tidemill-env.yaml", "name: films\nfrom: requirements.txt\npython: 3.10\n");
  EXPECT_NE(WhyNot().find("tidemill-env.yaml:3: python: must be a version in quotes"),
            std::string::npos)
      << WhyNot();
  Write("tidemill-env.yaml", "name: films\nfrom: requirements.txt\n");
  Write("tidemill-env.lock", "numpy==1\n");
  EXPECT_NE(WhyNot().find("tidemill-env.lock: it is no lock"), std::string::npos) << WhyNot();
}

TEST_F(EnvFolderTest, TheFileThatIsThereIsFound) {
  EXPECT_EQ(FindEnvSource(folder_), std::nullopt);
  Write("Dockerfile", "");
  EXPECT_EQ(FindEnvSource(folder_), "Dockerfile");
  Write("Pipfile", "");
  EXPECT_EQ(FindEnvSource(folder_), "Pipfile");
  Write("requirements.txt", "");
  EXPECT_EQ(FindEnvSource(folder_), "requirements.txt");
}

TEST(EnvFolder, TakesInWhatPipWould) {
  EXPECT_EQ(RequirementFiles("numpy\n-r a.txt\n  -c b/c.txt # why\n--requirement=d.txt\n"
                             "--constraint e.txt\n-e .\n--index-url=x\n-r\n"),
            (std::vector<std::string>{"a.txt", "b/c.txt", "d.txt", "e.txt"}));
}

TEST(EnvFolder, AnImageIsCalledAsItsFolder) {
  EXPECT_EQ(ImageNameFor("/home/a/Films (2)"), "films-2");
  EXPECT_EQ(ImageNameFor("/a/my_model.v2"), "my-model-v2");
  EXPECT_EQ(ImageNameFor("/a/---"), "env");
}

}  // namespace
}  // namespace tidemill::cli
