// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_file.h"

#include <array>
#include <filesystem>
#include <utility>

#include "model/job.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

// Runs in any image that has a shell, and without any image too.
constexpr std::string_view kHello = R"(name: hello
image: busybox:1.36
command: [/bin/sh, -c, "echo \"hello from item {index} of {count}\"; sleep 0.2"]
resources: {cpus: 1, memory: 128MiB}
retries: 1
timeout: 1m
)";
constexpr std::array kExamples = {Example{"hello", kHello, 100}};

// The file's own name without its ending, if a job can be called so.
std::string NameFrom(const std::string& file) {
  const std::string stem = std::filesystem::path(file).stem().string();
  return IsName(stem) ? stem : "job";
}

}  // namespace

std::string WithFile(const std::string& file, const std::string& reason) {
  constexpr std::string_view kLine = "line ";
  const std::size_t colon = reason.find(": ");
  if (!reason.starts_with(kLine) || colon == std::string::npos) return file + ": " + reason;
  return file + ":" + reason.substr(kLine.size());
}

Result<LoadedSpec> LoadSpec(std::string_view yaml, const std::string& file, SpecEdits edits) {
  const auto text = ToJson(yaml);
  if (!text) return Fail(Code::kInvalid, WithFile(file, text.error().reason));
  const auto wrong = [&](const SpecFault& fault) {
    const int line = text->LineOf(fault.path);
    return Fail(Code::kInvalid, file + ":" + std::to_string(line) + ": " + fault.text);
  };
  // As it stands first: then a line of the file is to blame, and after that it is the flags.
  auto parsed = ParseSpec(text->json);
  if (!parsed) return wrong(FaultOf(parsed.error().reason));
  if (edits.name.empty() && parsed->job.name.empty()) edits.name = NameFrom(file);
  TIDEMILL_TRY(std::string document, EditSpec(text->json, edits));
  auto edited = ParseSpec(document);
  if (!edited) return Fail(Code::kInvalid, FaultOf(edited.error().reason).text);
  return LoadedSpec{*std::move(edited), std::move(document)};
}

const Example* FindExample(std::string_view name) {
  for (const Example& example : kExamples) {
    if (example.name == name) return &example;
  }
  return nullptr;
}

Result<std::pair<std::string, std::string>> SplitPair(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Fail(Code::kInvalid, "'" + std::string(text) + "' is not NAME=VALUE");
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

}  // namespace tidemill::cli
