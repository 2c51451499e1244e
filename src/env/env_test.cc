// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "env/dockerfile.h"
#include "env/lock.h"

namespace tidemill {
namespace {

Environment Films() {
  return {.name = "films", .from = "requirements.txt", .base = "cpu", .python = "3.11"};
}

TEST(EnvLock, IsReadAsItWasWritten) {
  const EnvLock lock{"12ab", "python:3.11-slim", "a==1 --hash=sha256:1\n"};
  EXPECT_EQ(ParseEnvLock(FormatEnvLock(lock)), lock);
  const EnvLock none{"12ab", "b", ""};
  EXPECT_EQ(ParseEnvLock(FormatEnvLock(none)), none);
  for (const char* text :
       {"", "numpy==1\n", "# on x\n", "# made by 'tidemill env build' from \n"}) {
    EXPECT_FALSE(ParseEnvLock(text)) << text;
  }
}

TEST(Dockerfile, WhatChangesSeldomStandsFirst) {
  Environment films = Films();
  films.apt = {"ffmpeg", "libgl1"};
  const std::string text = ImageDockerfile(films, {"1", "python:3.11-slim@sha256:12", "a==1\n"});
  EXPECT_TRUE(text.starts_with("FROM python:3.11-slim@sha256:12\n"));
  std::size_t last = 0;
  for (const char* step : {"FROM", "ffmpeg", "libgl1", "python3 -m venv", "COPY tidemill/pins.txt",
                           "pip install", "WORKDIR /work", "COPY code /work"}) {
    const std::size_t at = text.find(step, last);
    ASSERT_NE(at, std::string::npos) << step << " after " << text.substr(last);
    last = at;
  }
}

TEST(Dockerfile, BothShareTheirFirstLayers) {
  const std::string image = ImageDockerfile(Films(), {"1", "python:3.11-slim", "a==1\n"});
  const std::string resolve = ResolveDockerfile(Films());
  const std::size_t shared = image.find("COPY");
  EXPECT_EQ(image.substr(0, shared), resolve.substr(0, resolve.find("WORKDIR")));
}

TEST(Dockerfile, CodeAndDriverAreThereIfTheyAreMeant) {
  Environment films = Films();
  films.code = false;
  const EnvLock lock{"1", "b", ""};
  EXPECT_EQ(ImageDockerfile(films, lock).find("COPY code"), std::string::npos);
  EXPECT_EQ(ImageDockerfile(films, lock).find("pip install"), std::string::npos) << "of nothing";
  EXPECT_EQ(ImageDockerfile(films, lock).find("NVIDIA"), std::string::npos);
  films.base = "gpu";
  EXPECT_NE(ImageDockerfile(films, lock).find("NVIDIA_DRIVER_CAPABILITIES"), std::string::npos);
  EXPECT_EQ(BaseImage(films), "python:3.11-slim");
  films.base = "debian:12";
  EXPECT_EQ(BaseImage(films), "debian:12");
}

}  // namespace
}  // namespace tidemill
