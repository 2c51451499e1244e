// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// What a person's programs need beside the code itself, and what becomes an image.
struct Environment {
  std::string name;                   // of the image, without a tag
  std::string from;                   // the file that says what is installed; see EnvSourceOf
  std::string base;                   // "cpu", "gpu", or an image
  std::string python = {};            // "3.11", of the first two
  std::vector<std::string> apt = {};  // packages of the base's distribution
  bool code = true;                   // the folder's files are in the image too
  bool operator==(const Environment&) const = default;
};

inline constexpr const char* kCpuBase = "cpu";
inline constexpr const char* kGpuBase = "gpu";

// How a file says what is installed.
enum class EnvSource { kRequirements, kProject, kPipfile, kConda, kDockerfile };
// By its name: requirements*.txt, pyproject.toml, Pipfile, environment.yml or .yaml, Dockerfile*.
std::optional<EnvSource> EnvSourceOf(std::string_view file);

// What a conda environment's file says.
struct CondaFile {
  std::vector<std::string> channels;      // names or addresses, the first has the first say
  std::vector<std::string> dependencies;  // "numpy=1.26"
  std::vector<std::string> pip = {};      // lines as in a requirements.txt
  bool operator==(const CondaFile&) const = default;
};

// A file below the folder, of letters, digits and ._-/ alone: it becomes a word of a command.
bool IsEnvFile(std::string_view path);

// "3.9" and on.
bool IsPythonVersion(std::string_view text);
// "libgl1", or with a version: "ffmpeg=7:5.1.6-0+deb12u1".
bool IsAptPackage(std::string_view text);

}  // namespace tidemill
