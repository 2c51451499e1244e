// SPDX-License-Identifier: Apache-2.0
#include "runtime/config.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/files.h"
#include "yaml/yaml.h"

namespace tidemill {
namespace {

// Of a folder; far more than anybody keeps, and each container waits for them.
constexpr std::size_t kMostHookFiles = 256;

// "hook-folders[1]: must be ..." has its place first; a fault of the whole has none.
std::string WithLine(const std::string& path, const YamlText& text, const std::string& reason) {
  const std::size_t colon = reason.find(": ");
  const int line = text.LineOf(std::string_view(reason).substr(0, colon));
  return path + ":" + std::to_string(line) + ": " + reason;
}

// ToJson has the line first: "line 4: ...".
std::string WithPath(const std::string& path, std::string_view reason) {
  constexpr std::string_view kLine = "line ";
  if (!reason.starts_with(kLine)) return path + ": " + std::string(reason);
  return path + ":" + std::string(reason.substr(kLine.size()));
}

// Nothing but comments.
bool IsBlank(std::string_view yaml) {
  while (!yaml.empty()) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::size_t first = yaml.find_first_not_of(" \t\r");
    if (first < end && yaml[first] != '#') return false;
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
  }
  return true;
}

template <typename Parse>
auto ReadAs(const std::string& path, Parse parse) -> decltype(parse("")) {
  TIDEMILL_TRY(const std::string yaml, ReadWhole(path, kYamlBytes));
  const auto text = IsBlank(yaml) ? YamlText{"null", {}} : ToJson(yaml);
  if (!text) return Fail(Code::kInvalid, WithPath(path, text.error().reason));
  auto parsed = parse(text->json);
  if (!parsed) return Fail(Code::kInvalid, WithLine(path, *text, parsed.error().reason));
  return parsed;
}

Result<std::vector<std::string>> HookFilesOf(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() != ".json") continue;
    files.push_back(entries->path().string());
    if (files.size() > kMostHookFiles) {
      return Fail(Code::kExhausted,
                  folder + " has more than " + std::to_string(kMostHookFiles) + " hook files");
    }
  }
  if (error) return Fail(Code::kUnavailable, folder + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<RuntimeConfig> ReadRuntimeConfig(const std::string& path) {
  auto config = ReadAs(path, ParseRuntimeConfig);
  if (!config && config.error().code == Code::kNotFound) return RuntimeConfig{};
  return config;
}

Result<std::vector<OciHook>> ReadHookFolders(const std::vector<std::string>& folders) {
  std::vector<OciHook> hooks;
  for (const std::string& folder : folders) {
    TIDEMILL_TRY(const auto files, HookFilesOf(folder));
    for (const std::string& file : files) {
      TIDEMILL_TRY(auto more, ReadAs(file, ParseHookFile));
      std::move(more.begin(), more.end(), std::back_inserter(hooks));
    }
  }
  return hooks;
}

}  // namespace tidemill
