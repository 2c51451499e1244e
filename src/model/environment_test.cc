// SPDX-License-Identifier: Apache-2.0
#include "model/environment.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Environment, AFilesNameSaysWhatItIs) {
  EXPECT_EQ(EnvSourceOf("requirements.txt"), EnvSource::kRequirements);
  EXPECT_EQ(EnvSourceOf("env/requirements-gpu.txt"), EnvSource::kRequirements);
  EXPECT_EQ(EnvSourceOf("pyproject.toml"), EnvSource::kProject);
  EXPECT_EQ(EnvSourceOf("Pipfile"), EnvSource::kPipfile);
  EXPECT_EQ(EnvSourceOf("docker/Dockerfile.gpu"), EnvSource::kDockerfile);
  for (const char* file :
       {"", "requirements", "my.txt", "Pipfile.lock", "setup.py", "Dockerfiles"}) {
    EXPECT_EQ(EnvSourceOf(file), std::nullopt) << file;
  }
}

TEST(Environment, PythonsVersionIsThreeAndANumber) {
  for (const char* text : {"3.9", "3.11", "3.20"}) EXPECT_TRUE(IsPythonVersion(text)) << text;
  for (const char* text : {"", "3", "3.", "2.7", "3.011", "3.11.2", "3.x", "3.111"}) {
    EXPECT_FALSE(IsPythonVersion(text)) << text;
  }
}

TEST(Environment, APackageIsWhatAptCallsIt) {
  for (const char* text :
       {"ffmpeg", "libstdc++6", "g++", "7zip", "a.b-c", "ffmpeg=7:5.1.6-0+deb12u1", "x1=1.0~rc1"}) {
    EXPECT_TRUE(IsAptPackage(text)) << text;
  }
  for (const char* text :
       {"", "a", "-y", "A", "a b", "ab;ls", "ab=", "ab=x", "ab=1 2", "ab\n", "$x"}) {
    EXPECT_FALSE(IsAptPackage(text)) << text;
  }
}

}  // namespace
}  // namespace tidemill
