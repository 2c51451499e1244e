// SPDX-License-Identifier: Apache-2.0
#include "wire/environment_json.h"

#include <algorithm>
#include <string>
#include <vector>

#include "model/image.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;

constexpr std::size_t kEnvironmentNameBytes = 256;
constexpr std::size_t kAptMost = 500;
constexpr std::size_t kChannelsMost = 32;
constexpr std::size_t kDependenciesMost = 2000;

Result<std::string> ReadName(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view name,
               fields.Text("name", {.most_bytes = kEnvironmentNameBytes}));
  const auto image = ParseImageName(name);
  const bool has_capital =
      std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  // Its tag is what is in it.
  if (!image || image->repository != name || has_capital) {
    return json::Wrong(fields.In("name"),
                       "must be an image's name in small letters, without a tag: films");
  }
  return std::string(name);
}

Result<std::string> ReadFrom(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view from,
               fields.Text("from", {.most_bytes = kEnvironmentNameBytes}));
  if (!IsEnvFile(from)) {
    return json::Wrong(fields.In("from"), "must be a file in this folder, of plain letters");
  }
  if (!EnvSourceOf(from)) {
    return json::Wrong(
        fields.In("from"),
        "must be environment.yml, requirements.txt, pyproject.toml, Pipfile or Dockerfile");
  }
  return std::string(from);
}

Result<std::string> ReadBase(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view base,
               fields.Text("base", {.most_bytes = kEnvironmentNameBytes, .absent = kCpuBase}));
  if (base != kCpuBase && base != kGpuBase && !ParseImageName(base)) {
    return json::Wrong(fields.In("base"), "must be cpu, gpu, or the name of an image");
  }
  return std::string(base);
}

Result<std::string> ReadPython(const Fields& fields) {
  const json::Value* value = fields.Find("python");
  if (value == nullptr) return std::string(kUsualPython);
  // YAML's 3.10 is the number 3.1.
  if (!value->is_string() || !IsPythonVersion(value->get_ref<const std::string&>())) {
    return json::Wrong(fields.In("python"), "must be a version in quotes, such as \"3.11\"");
  }
  return value->get<std::string>();
}

// One line, for programs that read lines.
bool IsPackageLine(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(),
                                       [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

// Of a conda file: packages of conda's, and among them at most one list of pip's.
Result<void> ReadDependency(const json::Value& value, const json::Path& path, CondaFile& read) {
  if (value.is_string() && IsPackageLine(value.get_ref<const std::string&>())) {
    read.dependencies.push_back(value.get<std::string>());
    return {};
  }
  if (!value.is_object()) {
    return json::Wrong(path, "must be a package such as numpy=1.26, or a list pip:");
  }
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  TIDEMILL_TRY_VOID(fields.Only({"pip"}));
  TIDEMILL_TRY(read.pip, json::ReadStrings(fields, "pip", kDependenciesMost, IsPackageLine,
                                           "must be packages such as numpy>=1.26"));
  return {};
}

}  // namespace

std::string FormatEnvironment(const Environment& environment) {
  std::string out = "{";
  json::AppendText(out, "name", environment.name);
  json::AppendText(out, "from", environment.from);
  json::AppendText(out, "base", environment.base);
  json::AppendText(out, "python", environment.python);
  json::AppendStrings(out, "apt", environment.apt);
  json::AppendFlag(out, "code", environment.code);
  return out.append("}");
}

std::string FormatBuiltImage(const BuiltImage& built) {
  std::string out = "{";
  json::AppendText(out, "image", built.image);
  json::AppendText(out, "id", built.id);
  json::AppendNumber(out, "bytes", built.bytes);
  json::AppendNumber(out, "took_ms", built.took_ms);
  json::AppendFlag(out, "resolved", built.resolved);
  return out.append("}");
}

std::string FormatJupyterPlace(const JupyterPlace& place) {
  std::string out = "{";
  json::AppendText(out, "url", place.url);
  json::AppendNumber(out, "port", place.port);
  json::AppendText(out, "token", place.token);
  json::AppendText(out, "image", place.image);
  return out.append("}");
}

Result<Environment> ParseEnvironment(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  const json::Path path;
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  TIDEMILL_TRY_VOID(fields.Only({"name", "from", "base", "python", "apt", "code"}));
  Environment read;
  TIDEMILL_TRY(read.name, ReadName(fields));
  TIDEMILL_TRY(read.from, ReadFrom(fields));
  TIDEMILL_TRY(read.base, ReadBase(fields));
  TIDEMILL_TRY(read.python, ReadPython(fields));
  TIDEMILL_TRY(read.apt, json::ReadStrings(fields, "apt", kAptMost, IsAptPackage,
                                           "must be packages such as ffmpeg or ffmpeg=7:5.1"));
  TIDEMILL_TRY(read.code, fields.Flag("code", true));
  return read;
}

std::string FormatCondaFile(const CondaFile& file) {
  std::string out = "{";
  json::AppendStrings(out, "channels", file.channels);
  json::AppendStrings(out, "dependencies", file.dependencies);
  json::AppendStrings(out, "pip", file.pip);
  return out.append("}");
}

Result<CondaFile> ParseCondaFile(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  const json::Path path;
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  // What it is called and where it was are of the machine that it came from.
  TIDEMILL_TRY_VOID(fields.Only({"name", "prefix", "channels", "dependencies"}));
  CondaFile read;
  TIDEMILL_TRY(read.channels, json::ReadStrings(fields, "channels", kChannelsMost, IsPackageLine,
                                                "must be channels such as conda-forge"));
  TIDEMILL_TRY(const json::Value* list, fields.Array("dependencies", kDependenciesMost));
  if (list == nullptr) return read;
  const json::Path in_list = fields.In("dependencies");
  json::Path at{&in_list, {}, 0};
  for (const json::Value& each : *list) {
    TIDEMILL_TRY_VOID(ReadDependency(each, at, read));
    ++at.index;
  }
  return read;
}

}  // namespace tidemill
