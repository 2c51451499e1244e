// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/lock.h"
#include "model/environment.h"

// An environment as it stands in a person's folder.
namespace tidemill::cli {

inline constexpr const char* kEnvFile = "tidemill-env.yaml";

struct EnvFolder {
  std::string folder;
  Environment environment;
  std::string conda;  // what is installed, as JSON, if one of conda's files says it
  // The SHA-256 of all that decides what is installed.
  std::string inputs;
  std::optional<EnvLock> lock;  // that is there, out of date or not
};

// kNotFound: there is no environment, with what to do. kInvalid: "tidemill-env.yaml:3: ...".
Result<EnvFolder> LoadEnvFolder(const std::string& folder);

// kInternal: it cannot be.
Result<void> WriteEnvFile(const std::filesystem::path& path, const std::string& text);

// The first of the files that say what is installed which is there; nothing if none is.
std::optional<std::string> FindEnvSource(const std::string& folder);

// The files that one of pip's takes in by -r and -c lines, as they stand there.
std::vector<std::string> RequirementFiles(const std::string& text);

// What the folder's image is called unless somebody says: its own name, as images may be called.
std::string ImageNameFor(const std::string& folder);

}  // namespace tidemill::cli
