// SPDX-License-Identifier: Apache-2.0
#include "cli/env_folder.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/digest.h"
#include "cli/locate.h"
#include "cli/spec_file.h"
#include "wire/environment_json.h"
#include "wire/fault.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

// A person's list is a few hundred lines; a lock has a line and a checksum for each of a few
// hundred packages.
constexpr std::size_t kEnvFileBytes = 4 << 20;
// Of files that take in others.
constexpr std::size_t kFilesMost = 64;

// "tidemill-env.yaml:3: name: must be ..."
std::string WithLine(const fs::path& path, const YamlText& text, const Error& error) {
  const SpecFault fault = FaultOf(error.reason);
  return path.string() + ":" + std::to_string(text.LineOf(fault.path)) + ": " + fault.text;
}

Result<std::string> ReadSource(const fs::path& path) {
  auto text = ReadFile(path, kEnvFileBytes);
  if (!text) return Fail(Code::kInvalid, path.string() + " is not there, or cannot be read");
  return *std::move(text);
}

std::string Below(const std::string& file, const std::string& name) {
  return (fs::path(file).parent_path() / name).lexically_normal().generic_string();
}

// Files of pip's and all that they take in, each with its name before it.
Result<std::string> ReadLists(const fs::path& folder, std::vector<std::string> waiting) {
  std::string all;
  std::set<std::string> seen(waiting.begin(), waiting.end());
  while (!waiting.empty()) {
    const std::string name = waiting.back();
    waiting.pop_back();
    TIDEMILL_TRY(const std::string text, ReadSource(folder / name));
    all += name + "\n" + text + "\n";
    for (const std::string& other : RequirementFiles(text)) {
      const std::string path = Below(name, other);
      if (seen.size() < kFilesMost && seen.insert(path).second) waiting.push_back(path);
    }
  }
  return all;
}

Result<CondaFile> ReadConda(const fs::path& path) {
  TIDEMILL_TRY(const std::string yaml, ReadSource(path));
  const auto text = ToJson(yaml);
  if (!text) return Fail(Code::kInvalid, WithFile(path.string(), text.error().reason));
  auto read = ParseCondaFile(text->json);
  if (!read) return Fail(Code::kInvalid, WithLine(path, *text, read.error()));
  return *std::move(read);
}

// What the environment's file says, and all that it takes in.
Result<std::string> ReadSources(EnvFolder& loaded) {
  const std::string& from = loaded.environment.from;
  const EnvSource source = EnvSourceOf(from).value_or(EnvSource::kDockerfile);
  if (source == EnvSource::kRequirements) return ReadLists(loaded.folder, {from});
  if (source != EnvSource::kConda) {
    TIDEMILL_TRY(const std::string text, ReadSource(fs::path(loaded.folder) / from));
    return from + "\n" + text + "\n";
  }
  TIDEMILL_TRY(const CondaFile file, ReadConda(fs::path(loaded.folder) / from));
  loaded.conda = FormatCondaFile(file);
  std::vector<std::string> lists;
  for (const std::string& line : file.pip) {
    for (const std::string& other : RequirementFiles(line)) lists.push_back(Below(from, other));
  }
  TIDEMILL_TRY(const std::string text, ReadLists(loaded.folder, lists));
  return loaded.conda + "\n" + text;
}

std::string InputsOf(const Environment& environment, const std::string& sources) {
  std::string text = environment.base + "\n" + environment.python + "\n";
  for (const std::string& package : environment.apt) text += package + " ";
  return Hex(Sha256(text + "\n" + sources));
}

}  // namespace

Result<EnvFolder> LoadEnvFolder(const std::string& folder) {
  const fs::path file = fs::path(folder) / kEnvFile;
  const auto yaml = ReadFile(file, kYamlBytes);
  if (!yaml) {
    return Fail(Code::kNotFound,
                "there is no " + file.string() + "; 'tidemill env init' makes one");
  }
  const auto text = ToJson(*yaml);
  if (!text) return Fail(Code::kInvalid, WithFile(file.string(), text.error().reason));
  auto environment = ParseEnvironment(text->json);
  if (!environment) return Fail(Code::kInvalid, WithLine(file, *text, environment.error()));
  EnvFolder loaded{folder, *std::move(environment), "", "", {}};
  TIDEMILL_TRY(const std::string sources, ReadSources(loaded));
  loaded.inputs = InputsOf(loaded.environment, sources);
  const fs::path lock = fs::path(folder) / kEnvLockFile;
  if (const auto kept = ReadFile(lock, kEnvFileBytes)) {
    auto parsed = ParseEnvLock(*kept);
    if (!parsed) return Fail(Code::kInvalid, lock.string() + ": " + parsed.error().reason);
    loaded.lock = *std::move(parsed);
  }
  return loaded;
}

Result<void> WriteEnvFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Fail(Code::kInternal, path.string() + " cannot be written");
  return {};
}

std::optional<std::string> FindEnvSource(const std::string& folder) {
  // One of conda's says more than a list of pip's, which it often takes in.
  constexpr std::array kNames = {"environment.yml", "environment.yaml", "requirements.txt",
                                 "pyproject.toml",  "Pipfile",          "Dockerfile"};
  for (const char* name : kNames) {
    std::error_code error;
    if (fs::is_regular_file(fs::path(folder) / name, error)) return name;
  }
  return std::nullopt;
}

std::vector<std::string> RequirementFiles(const std::string& text) {
  std::vector<std::string> files;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string flag;
    std::string file;
    words >> flag >> file;
    const std::size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      file = flag.substr(equals + 1);
      flag = flag.substr(0, equals);
    }
    const bool takes_in =
        flag == "-r" || flag == "-c" || flag == "--requirement" || flag == "--constraint";
    if (takes_in && !file.empty()) files.push_back(file);
  }
  return files;
}

std::string ImageNameFor(const std::string& folder) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(folder, error);
  if (error) whole = folder;
  std::string name;
  for (char c : whole.filename().string()) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    // Nowhere two signs in a row, nor one at an end.
    if (is_plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  if (name.ends_with('-')) name.pop_back();
  return name.empty() ? "env" : name;
}

}  // namespace tidemill::cli
