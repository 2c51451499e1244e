// SPDX-License-Identifier: Apache-2.0
#include "cli/env_docker.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "cli/child.h"
#include "cli/locate.h"
#include "cli/pack_folder.h"
#include "submit/tar_writer.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

// Code, not data; but nobody holds it in memory, as a server holds a job's code.
constexpr PackLimits kContextLimits{.bytes = std::int64_t{4} << 30};

Result<std::pair<std::string, int>> MakeFile() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "tidemill-env-XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return Fail(Code::kInternal, path + ": " + std::strerror(errno));
  return std::pair(path, fd);
}

tl::unexpected<Error> Failed(const std::string& what, int exit) {
  return Fail(Code::kInternal, "'" + what + "' failed with exit code " + std::to_string(exit));
}

std::string Trimmed(std::string text) {
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

Result<BuildContext> BuildContext::Make() {
  TIDEMILL_TRY(auto made, MakeFile());
  return BuildContext(std::move(made.first), made.second);
}

BuildContext::BuildContext(BuildContext&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      fd_(std::exchange(other.fd_, -1)),
      digest_(std::move(other.digest_)) {}

BuildContext::~BuildContext() {
  if (fd_ >= 0) ::close(fd_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<void> BuildContext::Write(std::string_view bytes) {
  digest_.Add(bytes);
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Fail(Code::kInternal, path_ + ": " + std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

Result<void> BuildContext::AddFiles(const std::vector<ContextFile>& files) {
  for (const ContextFile& file : files) {
    const auto size = static_cast<std::int64_t>(file.text.size());
    TIDEMILL_TRY_VOID(Write(TarHeader({.name = file.path, .size_bytes = size})));
    TIDEMILL_TRY_VOID(Write(file.text));
    TIDEMILL_TRY_VOID(Write(TarPadding(size)));
  }
  return {};
}

Result<void> BuildContext::AddFolder(const std::string& folder, const std::string& below) {
  // It is there also if the folder has nothing in it.
  TIDEMILL_TRY_VOID(Write(TarHeader({.kind = TarItem::Kind::kFolder, .name = below})));
  return TarFolder(folder, below + "/", kContextLimits,
                   [this](std::string_view bytes) { return Write(bytes); });
}

Result<std::string> BuildContext::End() {
  TIDEMILL_TRY_VOID(Write(TarEnd()));
  return Hex(digest_.Finish());
}

Result<DockerProgram> DockerProgram::Find(const Console& console, const Surroundings& around) {
  const auto found = FindProgram("docker", {}, around.Env("PATH").value_or(""));
  if (!found) {
    return Fail(Code::kNotFound,
                "there is no 'docker' in PATH, which builds images; install Docker first");
  }
  return DockerProgram(found->string(), console.quiet || console.json);
}

Result<std::string> DockerProgram::BuildFrom(std::vector<std::string> words,
                                             const std::string& input, const std::string& folder) {
  TIDEMILL_TRY(const auto id_file, MakeFile());
  ::close(id_file.second);
  words.insert(words.begin(), {path_, "build", "--iidfile", id_file.first});
  if (is_quiet_) words.emplace_back("--quiet");
  words.push_back(folder);
  // When it is quiet it prints the id, which is for nobody.
  const auto end = RunProgram({.words = words, .input = input, .keeps = is_quiet_});
  const std::string id = Trimmed(ReadFile(id_file.first, 256).value_or(""));
  ::unlink(id_file.first.c_str());
  if (!end) return Fail(end.error().code, end.error().reason);
  if (end->exit != 0) return Failed("docker build", end->exit);
  return id;
}

Result<std::string> DockerProgram::Build(const BuildContext& context,
                                         const std::vector<std::string>& words) {
  return BuildFrom(words, context.path(), "-");
}

Result<std::string> DockerProgram::BuildFolder(const std::string& folder,
                                               const std::string& dockerfile,
                                               const std::vector<std::string>& words) {
  std::vector<std::string> all = {"--file", folder + "/" + dockerfile};
  all.insert(all.end(), words.begin(), words.end());
  return BuildFrom(std::move(all), "", folder);
}

Result<ProgramEnd> DockerProgram::Try(const std::vector<std::string>& words) {
  return RunProgram({.words = WithPath(words), .keeps = true});
}

Result<std::string> DockerProgram::Ask(const std::vector<std::string>& words) {
  TIDEMILL_TRY(const ProgramEnd end, Try(words));
  if (end.exit != 0) return Failed("docker " + words.front(), end.exit);
  return end.out;
}

Result<DockerInfo> DockerProgram::Info() {
  TIDEMILL_TRY(const std::string said, Ask({"info", "--format", "{{json .}}"}));
  auto info = ParseDockerInfo(said);
  if (!info) return While("'docker info'", std::move(info).error());
  return info;
}

Error DockerProgram::Become(const std::vector<std::string>& words,
                            const std::vector<Variable>& variables) {
  return BecomeProgram(WithPath(words), variables);
}

std::vector<std::string> DockerProgram::WithPath(const std::vector<std::string>& words) const {
  std::vector<std::string> all = {path_};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Result<void> DockerProgram::Do(const std::vector<std::string>& words) {
  TIDEMILL_TRY(const ProgramEnd end, RunProgram({.words = WithPath(words), .keeps = is_quiet_}));
  if (end.exit != 0) return Failed("docker " + words.front(), end.exit);
  return {};
}

std::optional<DockerImage> DockerProgram::FindImage(const std::string& name) {
  // A list, which is empty if it is not there: `inspect` would complain to the person.
  const auto listed = Ask({"images", "--quiet", "--no-trunc", name});
  if (!listed || Trimmed(*listed).empty()) return std::nullopt;
  const auto said = Ask({"image", "inspect", "--format", "{{.Id}} {{.Size}}", name});
  if (!said) return std::nullopt;
  DockerImage image;
  std::istringstream words(*said);
  if (!(words >> image.id >> image.bytes)) return std::nullopt;
  return image;
}

}  // namespace tidemill::cli
