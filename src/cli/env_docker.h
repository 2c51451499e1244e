// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "cli/console.h"
#include "cli/run_program.h"
#include "env/dockerfile.h"
#include "wire/docker_json.h"

namespace tidemill::cli {

// An archive that an engine builds an image of, in a file that goes with it.
class BuildContext {
 public:
  // kInternal: there is no room for it.
  static Result<BuildContext> Make();
  BuildContext(BuildContext&& other) noexcept;
  BuildContext& operator=(BuildContext&&) = delete;
  ~BuildContext();

  Result<void> AddFiles(const std::vector<ContextFile>& files);
  // As TarFolder does.
  Result<void> AddFolder(const std::string& folder, const std::string& below);
  // The SHA-256 of all of it, in hex. Once, at the end.
  Result<std::string> End();
  const std::string& path() const { return path_; }

 private:
  explicit BuildContext(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<void> Write(std::string_view bytes);

  std::string path_;  // empty: moved from
  int fd_;
  Sha256Stream digest_;
};

struct DockerImage {
  std::string id;
  std::int64_t bytes = 0;
};

// The person's own `docker`, with whatever engine it speaks to.
class DockerProgram {
 public:
  // kNotFound, with what to do.
  static Result<DockerProgram> Find(const Console& console, const Surroundings& around);

  // `docker build` of an archive; its id. What it prints goes to the person.
  Result<std::string> Build(const BuildContext& context, const std::vector<std::string>& words);
  // The same of a folder and a Dockerfile in it.
  Result<std::string> BuildFolder(const std::string& folder, const std::string& dockerfile,
                                  const std::vector<std::string>& words);
  // What it prints.
  Result<std::string> Ask(const std::vector<std::string>& words);
  // The same, whatever its exit code is.
  Result<ProgramEnd> Try(const std::vector<std::string>& words);
  // What the engine says of itself.
  Result<DockerInfo> Info();
  // For its effect: what it prints goes to the person.
  Result<void> Do(const std::vector<std::string>& words);
  // Nothing if there is no such image.
  std::optional<DockerImage> FindImage(const std::string& name);
  // Becomes it; returns only if it cannot be started.
  Error Become(const std::vector<std::string>& words, const std::vector<Variable>& variables = {});

 private:
  DockerProgram(std::string path, bool is_quiet) : path_(std::move(path)), is_quiet_(is_quiet) {}
  Result<std::string> BuildFrom(std::vector<std::string> words, const std::string& input,
                                const std::string& folder);
  std::vector<std::string> WithPath(const std::vector<std::string>& words) const;

  std::string path_;
  bool is_quiet_;
};

}  // namespace tidemill::cli
