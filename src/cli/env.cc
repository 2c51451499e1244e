// SPDX-License-Identifier: Apache-2.0
#include "cli/env.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "cli/env_docker.h"
#include "cli/env_folder.h"
#include "cli/format.h"
#include "env/dockerfile.h"
#include "model/image.h"
#include "wire/environment_json.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTagDigits = 12;
// What pip is told by whoever builds.
constexpr std::array kPipVariables = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"};
// And what conda's packages are chosen by.
constexpr std::array kCondaVariables = {"CONDA_CHANNEL_ALIAS", "CONDA_OVERRIDE_CUDA"};

int Refuse(const Console& console, const Error& error) {
  console.ErrLine(error.reason);
  if (error.code == Code::kNotFound) return kNoSuchThing;
  return error.code == Code::kInvalid ? kWrongUse : kFailed;
}

Result<void> WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Fail(Code::kInternal, path.string() + " cannot be written");
  return {};
}

std::string EnvText(const Environment& environment) {
  return "# What becomes an image: tidemill env build\n"
         "name: " +
         environment.name +
         "\n"
         "from: " +
         environment.from +
         "\n"
         "base: " +
         environment.base +
         "          # cpu, gpu, or an image of your own\n"
         "python: \"" +
         environment.python +
         "\"\n"
         "# apt: [ffmpeg]   # packages of Debian that it needs too\n";
}

// Makes the image of a folder's environment, by a person's Docker.
class Builder {
 public:
  Builder(DockerProgram docker, const Surroundings& around, const EnvFlags& flags)
      : docker_(std::move(docker)), around_(around), flags_(flags) {}

  Result<BuiltImage> Run(EnvFolder& folder) {
    const std::int64_t begin = around_.now_ms();
    const bool is_own = EnvSourceOf(folder.environment.from) == EnvSource::kDockerfile;
    auto built = is_own ? BuildOwn(folder) : BuildOurs(folder);
    // It was needed for its layers, which the image has now.
    if (!resolver_.empty()) (void)docker_.Ask({"image", "rm", resolver_});
    if (!built) return built;
    built->took_ms = around_.now_ms() - begin;
    return built;
  }

 private:
  std::vector<std::string> BuildWords() const {
    std::vector<std::string> words;
    if (!flags_.network.empty()) words.insert(words.end(), {"--network", flags_.network});
    AddSet(words, "--build-arg", kPipVariables);
    return words;
  }

  // Those that the person has set, each after its flag.
  void AddSet(std::vector<std::string>& words, const char* flag, const auto& names) const {
    for (const char* name : names) {
      if (around_.Env(name)) words.insert(words.end(), {flag, name});
    }
  }

  Result<BuiltImage> BuildOurs(EnvFolder& folder) {
    bool resolved = false;
    if (flags_.upgrade || !folder.lock || folder.lock->inputs != folder.inputs) {
      TIDEMILL_TRY(folder.lock, Resolve(folder));
      TIDEMILL_TRY_VOID(
          WriteFile(fs::path(folder.folder) / kEnvLockFile, FormatEnvLock(*folder.lock)));
      resolved = true;
    }
    TIDEMILL_TRY(BuildContext context, BuildContext::Make());
    TIDEMILL_TRY_VOID(context.AddFiles(ImageContext(folder.environment, *folder.lock)));
    if (folder.environment.code) {
      TIDEMILL_TRY_VOID(context.AddFolder(folder.folder, kContextCode));
    }
    TIDEMILL_TRY(const std::string digest, context.End());
    const std::string image = folder.environment.name + ":" + digest.substr(0, kTagDigits);
    if (!docker_.FindImage(image)) {
      std::vector<std::string> words = BuildWords();
      words.insert(words.end(), {"--file", kContextDockerfile, "--tag", image});
      TIDEMILL_TRY_VOID(docker_.Build(context, words));
    }
    return Done(folder, image, resolved);
  }

  Result<BuiltImage> BuildOwn(const EnvFolder& folder) {
    TIDEMILL_TRY(const std::string id,
                 docker_.BuildFolder(folder.folder, folder.environment.from, BuildWords()));
    constexpr std::string_view kKind = "sha256:";
    const std::string digits = id.starts_with(kKind) ? id.substr(kKind.size()) : id;
    const std::string image = folder.environment.name + ":" + digits.substr(0, kTagDigits);
    TIDEMILL_TRY_VOID(docker_.Do({"tag", id, image}));
    return Done(folder, image, false);
  }

  Result<BuiltImage> Done(const EnvFolder& folder, const std::string& image, bool resolved) {
    TIDEMILL_TRY_VOID(docker_.Do({"tag", image, folder.environment.name + ":latest"}));
    const auto found = docker_.FindImage(image);
    if (!found) return Fail(Code::kInternal, "Docker does not know " + image + " any more");
    return BuiltImage{image, found->id, found->bytes, 0, resolved};
  }

  // What the environment's file means today.
  Result<EnvLock> Resolve(const EnvFolder& folder) {
    TIDEMILL_TRY(BuildContext context, BuildContext::Make());
    TIDEMILL_TRY_VOID(context.AddFiles(ResolveContext(folder.environment, folder.conda)));
    TIDEMILL_TRY_VOID(context.AddFolder(folder.folder, kContextCode));
    TIDEMILL_TRY_VOID(context.End());
    std::vector<std::string> words = BuildWords();
    words.insert(words.end(), {"--file", kContextDockerfile});
    TIDEMILL_TRY(resolver_, docker_.Build(context, words));
    std::vector<std::string> run = {"run", "--rm"};
    if (!flags_.network.empty()) run.insert(run.end(), {"--network", flags_.network});
    AddSet(run, "--env", kPipVariables);
    AddSet(run, "--env", kCondaVariables);
    run.push_back(resolver_);
    const auto pins = docker_.Ask(run);
    if (!pins) {
      return Fail(Code::kInvalid, "what " + folder.environment.from +
                                      " asks for cannot be had, for the reason above");
    }
    return EnvLock{folder.inputs, PinnedBase(BaseImage(folder.environment)), *pins};
  }

  // With the digest that its registry knows it by, if it came from one.
  std::string PinnedBase(const std::string& base) {
    const auto said = docker_.Ask({"image", "inspect", "--format", "{{json .RepoDigests}}", base});
    if (!said) return base;
    const std::size_t at = said->find("@sha256:");
    if (at == std::string::npos) return base;
    const std::string digest = said->substr(at + 1, std::string_view("sha256:").size() + 64);
    const auto name = ParseImageName(base);
    return name && IsImageDigest(digest) ? PinnedImage(*name, digest) : base;
  }

  DockerProgram docker_;
  const Surroundings& around_;
  const EnvFlags& flags_;
  std::string resolver_;
};

void ShowBuilt(const Console& console, const EnvFolder& folder, const BuiltImage& built) {
  if (console.json) {
    console.Line(FormatBuiltImage(built));
  } else if (console.quiet) {
    console.Line(built.image);
  } else {
    if (built.resolved) {
      console.Line("What is installed is kept in " +
                   (fs::path(folder.folder) / kEnvLockFile).lexically_normal().string());
    }
    console.Line("Built " + console.Painted(Colour::kBold, built.image) + " (" +
                 DecimalBytesText(built.bytes) + ") in " + DurationText(built.took_ms));
  }
}

// A folder's image, and all that it took.
struct Made {
  EnvFolder folder;
  DockerProgram docker;
  BuiltImage built;
};

Result<Made> Make(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  TIDEMILL_TRY(EnvFolder folder, LoadEnvFolder(flags.folder));
  TIDEMILL_TRY(DockerProgram docker, DockerProgram::Find(console, around));
  TIDEMILL_TRY(BuiltImage built, Builder(docker, around, flags).Run(folder));
  return Made{std::move(folder), std::move(docker), std::move(built)};
}

}  // namespace

int EnvInit(const Console& console, const EnvFlags& flags) {
  const fs::path file = fs::path(flags.folder) / kEnvFile;
  std::error_code error;
  if (!fs::is_directory(flags.folder, error)) {
    console.ErrLine("there is no folder " + flags.folder);
    return kNoSuchThing;
  }
  if (fs::exists(file, error)) {
    console.ErrLine(file.lexically_normal().string() + " is there already");
    return kWrongUse;
  }
  const auto found = FindEnvSource(flags.folder);
  const std::string from = !flags.from.empty() ? flags.from : found.value_or("requirements.txt");
  const Environment environment{
      .name = flags.name.empty() ? ImageNameFor(flags.folder) : flags.name,
      .from = from,
      .base = flags.gpu ? kGpuBase : kCpuBase,
      .python = kUsualPython};
  const auto read = ParseEnvironment(FormatEnvironment(environment));
  if (!read) {
    console.ErrLine("--" + read.error().reason);
    return kWrongUse;
  }
  if (flags.from.empty() && !found) {
    const auto list =
        WriteFile(fs::path(flags.folder) / from, "# One package a line, such as: numpy>=1.26\n");
    if (!list) return Refuse(console, list.error());
  }
  const auto written = WriteFile(file, EnvText(environment));
  if (!written) return Refuse(console, written.error());
  if (console.json) {
    console.Line(FormatEnvironment(environment));
  } else if (console.quiet) {
    console.Line(file.lexically_normal().string());
  } else {
    console.Line("Wrote " + file.lexically_normal().string() + ": image " + environment.name +
                 " from " + from + ". Next: tidemill env build" +
                 (flags.folder == "." ? "" : " " + flags.folder));
  }
  return kDone;
}

int EnvBuild(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  const auto made = Make(console, around, flags);
  if (!made) return Refuse(console, made.error());
  ShowBuilt(console, made->folder, made->built);
  return kDone;
}

int EnvPush(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  const auto wanted = ParseImageName(flags.to);
  if (!flags.to.empty() && (!wanted || wanted->repository != flags.to)) {
    console.ErrLine("--to: the name of an image without a tag is needed, as host:5000/films");
    return kWrongUse;
  }
  auto made = Make(console, around, flags);
  if (!made) return Refuse(console, made.error());
  const std::string tag = made->built.image.substr(made->built.image.rfind(':'));
  const std::string to = (flags.to.empty() ? made->folder.environment.name : flags.to) + tag;
  if (to != made->built.image) {
    const auto tagged = made->docker.Do({"tag", made->built.image, to});
    if (!tagged) return Refuse(console, tagged.error());
  }
  const auto pushed = made->docker.Do({"push", to});
  if (!pushed) return Refuse(console, pushed.error());
  made->built.image = to;
  if (console.json) {
    console.Line(FormatBuiltImage(made->built));
  } else {
    console.Line(console.quiet ? to : "Pushed " + to + ". A spec names it so:  image: " + to);
  }
  return kDone;
}

}  // namespace tidemill::cli
