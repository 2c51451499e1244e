// SPDX-License-Identifier: Apache-2.0
#include "model/environment.h"

#include <algorithm>

#include "base/ascii.h"

namespace tidemill {
namespace {

constexpr std::size_t kPackageBytes = 128;

bool IsSmallOrDigit(char c) { return (c >= 'a' && c <= 'z') || IsDigit(c); }

std::string_view FileName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::optional<EnvSource> EnvSourceOf(std::string_view file) {
  const std::string_view name = FileName(file);
  if (name == "pyproject.toml") return EnvSource::kProject;
  if (name == "Pipfile") return EnvSource::kPipfile;
  if (name == "environment.yml" || name == "environment.yaml") return EnvSource::kConda;
  if (name == "Dockerfile" || name.starts_with("Dockerfile.")) return EnvSource::kDockerfile;
  if (name.starts_with("requirements") && name.ends_with(".txt")) return EnvSource::kRequirements;
  return std::nullopt;
}

bool IsEnvFile(std::string_view path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), [](char c) {
    return IsSmallOrDigit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-' ||
           c == '/';
  });
  const bool leads_out = path.starts_with('/') || path.find("..") != std::string_view::npos;
  return !path.empty() && is_plain && !leads_out && path.front() != '-';
}

bool IsPythonVersion(std::string_view text) {
  if (!text.starts_with("3.")) return false;
  const std::string_view minor = text.substr(2);
  return !minor.empty() && minor.size() <= 2 && minor.front() != '0' &&
         std::all_of(minor.begin(), minor.end(), IsDigit);
}

bool IsAptPackage(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  const std::string_view version = text.substr(std::min(text.size(), name.size() + 1));
  const bool has_version = name.size() < text.size();
  const auto is_name = [](char c) { return IsSmallOrDigit(c) || c == '+' || c == '-' || c == '.'; };
  const auto is_version = [&](char c) {
    return is_name(c) || (c >= 'A' && c <= 'Z') || c == ':' || c == '~' || c == '_';
  };
  return text.size() <= kPackageBytes && name.size() >= 2 && IsSmallOrDigit(name.front()) &&
         std::all_of(name.begin(), name.end(), is_name) &&
         (!has_version || (!version.empty() && IsDigit(version.front()) &&
                           std::all_of(version.begin(), version.end(), is_version)));
}

}  // namespace tidemill
