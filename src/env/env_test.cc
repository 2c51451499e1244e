// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/dockerfile.h"
#include "env/jupyter.h"
#include "env/lock.h"

namespace tidemill {
namespace {

Environment Films() {
  return {.name = "films", .from = "requirements.txt", .base = "cpu", .python = "3.11"};
}

std::string DockerfileOf(const std::vector<ContextFile>& files) {
  for (const ContextFile& file : files) {
    if (file.path == kContextDockerfile) return file.text;
  }
  return "";
}

std::string ImageDockerfile(const Environment& environment, const EnvLock& lock) {
  return DockerfileOf(ImageContext(environment, lock));
}

// Each of them in `text`, one after the other.
void ExpectInOrder(const std::string& text, const std::vector<const char*>& steps) {
  std::size_t last = 0;
  for (const char* step : steps) {
    const std::size_t at = text.find(step, last);
    ASSERT_NE(at, std::string::npos) << step << " after " << text.substr(last);
    last = at;
  }
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
  ExpectInOrder(text, {"FROM", "ffmpeg", "libgl1", "python3 -m venv", "COPY tidemill/pins.txt",
                       "pip install", "WORKDIR /work", "COPY code /work"});
}

TEST(Dockerfile, CondasPackagesComeWithoutWhatInstallsThem) {
  Environment films = Films();
  films.from = "env/environment.yaml";
  films.apt = {"ffmpeg"};
  const auto files = ImageContext(films, {"1", "python:3.11-slim@sha256:12", "version: 7\n"});
  ExpectInOrder(DockerfileOf(files), {"FROM python:3.11-slim@sha256:12 AS conda\n", "py-rattler",
                                      "pins.txt", "build", "FROM python:3.11-slim@sha256:12\n",
                                      "ffmpeg", "COPY --from=conda", "COPY code /work"});
  films.base = "gpu";
  const auto resolve = ResolveContext(films, BaseImage(films), R"({"channels":[]})");
  ExpectInOrder(DockerfileOf(resolve), {"FROM python:3.11-slim AS conda\n", "py-rattler",
                                        "CONDA_OVERRIDE_CUDA", "COPY code", "CMD"});
  // All that is copied is there.
  for (const auto& context : {files, resolve}) {
    const std::string text = DockerfileOf(context);
    for (std::size_t at = 0; (at = text.find("COPY tidemill/", at)) != std::string::npos;) {
      at += std::string_view("COPY ").size();
      const std::string path = text.substr(at, text.find(' ', at) - at);
      EXPECT_TRUE(std::any_of(context.begin(), context.end(), [&](const ContextFile& file) {
        return file.path == path;
      })) << path;
    }
  }
}

TEST(Dockerfile, BothShareTheirFirstLayers) {
  const std::string image = ImageDockerfile(Films(), {"1", "python:3.11-slim", "a==1\n"});
  const std::string resolve = DockerfileOf(ResolveContext(Films(), "python:3.11-slim", ""));
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

TEST(Jupyter, StandsBetweenWhatIsInstalledAndTheCode) {
  const EnvLock lock{"1", "b", "greet==1.1"};
  const std::string text = DockerfileOf(ImageContext(Films(), lock, JupyterLayer()));
  EXPECT_LT(text.find("-r /opt/env/pins.txt"), text.find("jupyterlab"));
  EXPECT_LT(text.find("jupyterlab"), text.find("COPY code"));
}

TEST(Jupyter, ChangesNothingOfWhatIsInstalled) {
  const std::string layer = JupyterLayer();
  EXPECT_EQ(layer.find("FROM"), std::string::npos);
  const std::size_t listed = layer.find("pip list");
  const std::size_t installed = layer.find("--constraint /tmp/pins.txt jupyterlab");
  ASSERT_NE(installed, std::string::npos);
  EXPECT_LT(listed, installed);
}

TEST(Jupyter, IsToldItsFolderAndNoToken) {
  std::string all;
  for (const std::string& word : JupyterWords("/work")) all += word + "\n";
  EXPECT_NE(all.find("--ServerApp.root_dir=/work\n"), std::string::npos);
  EXPECT_NE(all.find("--ServerApp.allow_remote_access=False\n"), std::string::npos);
  EXPECT_EQ(all.find("token"), std::string::npos) << "arguments are seen by everybody";
}

}  // namespace
}  // namespace tidemill
