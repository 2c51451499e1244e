// SPDX-License-Identifier: Apache-2.0
#include "cli/env_build.h"

#include <array>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "env/dockerfile.h"
#include "env/jupyter.h"
#include "model/image.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTagDigits = 12;
// What pip is told by whoever builds.
constexpr std::array kPipVariables = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"};
// And what conda's packages are chosen by.
constexpr std::array kCondaVariables = {"CONDA_CHANNEL_ALIAS", "CONDA_OVERRIDE_CUDA"};

// Makes the image of a folder's environment, by a person's Docker.
class Builder {
 public:
  Builder(DockerProgram docker, const Surroundings& around, const EnvFlags& flags,
          EnvPurpose purpose)
      : docker_(std::move(docker)), around_(around), flags_(flags), purpose_(purpose) {}

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
  bool HasJupyter() const {
    return purpose_ == EnvPurpose::kJupyter || purpose_ == EnvPurpose::kJupyterImage;
  }
  bool IsForMachines() const {
    return purpose_ == EnvPurpose::kImage || purpose_ == EnvPurpose::kJupyterImage;
  }

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
          WriteEnvFile(fs::path(folder.folder) / kEnvLockFile, FormatEnvLock(*folder.lock)));
      resolved = true;
    }
    Environment environment = folder.environment;
    if (!IsForMachines()) environment.code = false;
    const std::string tools = HasJupyter() ? JupyterLayer() : "";
    TIDEMILL_TRY(BuildContext context, BuildContext::Make());
    TIDEMILL_TRY_VOID(context.AddFiles(ImageContext(environment, *folder.lock, tools)));
    if (environment.code) {
      TIDEMILL_TRY_VOID(context.AddFolder(folder.folder, kContextCode));
    }
    TIDEMILL_TRY(const std::string image, BuildOnce(environment.name, context));
    return Done(folder, image, resolved);
  }

  // The image of what the context holds.
  Result<std::string> BuildOnce(const std::string& name, BuildContext& context) {
    TIDEMILL_TRY(const std::string digest, context.End());
    const char* const kind = HasJupyter()                    ? "jupyter-"
                             : purpose_ == EnvPurpose::kWork ? "work-"
                                                             : "";
    const std::string image = name + ":" + kind + digest.substr(0, kTagDigits);
    if (docker_.FindImage(image)) return image;
    std::vector<std::string> words = BuildWords();
    words.insert(words.end(), {"--file", kContextDockerfile, "--tag", image});
    TIDEMILL_TRY_VOID(docker_.Build(context, words));
    return image;
  }

  Result<BuiltImage> BuildOwn(const EnvFolder& folder) {
    TIDEMILL_TRY(const std::string id,
                 docker_.BuildFolder(folder.folder, folder.environment.from, BuildWords()));
    constexpr std::string_view kKind = "sha256:";
    const std::string digits = id.starts_with(kKind) ? id.substr(kKind.size()) : id;
    std::string image = folder.environment.name + ":" + digits.substr(0, kTagDigits);
    TIDEMILL_TRY_VOID(docker_.Do({"tag", id, image}));
    if (HasJupyter()) {
      TIDEMILL_TRY(BuildContext context, BuildContext::Make());
      TIDEMILL_TRY_VOID(
          context.AddFiles({{kContextDockerfile, "FROM " + image + "\n" + JupyterLayer()}}));
      TIDEMILL_TRY(image, BuildOnce(folder.environment.name, context));
    }
    return Done(folder, image, false);
  }

  Result<BuiltImage> Done(const EnvFolder& folder, const std::string& image, bool resolved) {
    if (purpose_ == EnvPurpose::kImage) {
      TIDEMILL_TRY_VOID(docker_.Do({"tag", image, folder.environment.name + ":latest"}));
    }
    const auto found = docker_.FindImage(image);
    if (!found) return Fail(Code::kInternal, "Docker does not know " + image + " any more");
    return BuiltImage{image, found->id, found->bytes, 0, resolved};
  }

  // What the environment's file means today.
  Result<EnvLock> Resolve(const EnvFolder& folder) {
    TIDEMILL_TRY(const std::string base, PinnedBase(BaseImage(folder.environment)));
    TIDEMILL_TRY(BuildContext context, BuildContext::Make());
    TIDEMILL_TRY_VOID(context.AddFiles(ResolveContext(folder.environment, base, folder.conda)));
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
    return EnvLock{folder.inputs, base, *pins};
  }

  // With the digest that its registry knows it by. An image that is here and of no registry is
  // somebody's own, and taken as it is. The pull is ours: BuildKit fetches a base as well, but what
  // it has fetched is no image that could be asked for its digest.
  Result<std::string> PinnedBase(const std::string& base) {
    const bool is_here = docker_.FindImage(base).has_value();
    std::optional<std::string> pinned = is_here ? FindPinned(base) : std::nullopt;
    if (!is_here || (pinned && flags_.upgrade)) {
      TIDEMILL_TRY_VOID(docker_.Do({"pull", base}));
      pinned = FindPinned(base);
    }
    return pinned.value_or(base);
  }

  std::optional<std::string> FindPinned(const std::string& base) {
    const auto name = ParseImageName(base);
    const auto said = docker_.Ask(
        {"image", "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", base});
    if (!name || !said) return std::nullopt;
    // The same image may be of other registries too, with other digests.
    std::istringstream lines(*said);
    for (std::string line; lines >> line;) {
      const auto known = ParseImageName(line);
      if (!known || RegistryPathOf(*known) != RegistryPathOf(*name)) continue;
      if (IsImageDigest(known->tag)) return PinnedImage(*name, known->tag);
    }
    return std::nullopt;
  }

  DockerProgram docker_;
  const Surroundings& around_;
  const EnvFlags& flags_;
  EnvPurpose purpose_;
  std::string resolver_;
};

}  // namespace

int RefuseEnv(const Console& console, const Error& error) {
  console.ErrLine(error.reason);
  if (error.code == Code::kNotFound) return kNoSuchThing;
  return error.code == Code::kInvalid ? kWrongUse : kFailed;
}

Result<void> PushEnv(MadeEnv& made, const std::string& to) {
  const std::string tag = made.built.image.substr(made.built.image.rfind(':'));
  const std::string name = (to.empty() ? made.folder.environment.name : to) + tag;
  if (name != made.built.image) {
    TIDEMILL_TRY_VOID(made.docker.Do({"tag", made.built.image, name}));
  }
  TIDEMILL_TRY_VOID(made.docker.Do({"push", name}));
  made.built.image = name;
  return {};
}

Result<MadeEnv> MakeEnv(const Console& console, const Surroundings& around, const EnvFlags& flags,
                        EnvPurpose purpose) {
  TIDEMILL_TRY(EnvFolder folder, LoadEnvFolder(flags.folder));
  Console shown = console;
  // Docker lists the steps of a Dockerfile also if there is nothing to do.
  const bool is_own = EnvSourceOf(folder.environment.from) == EnvSource::kDockerfile;
  if (purpose != EnvPurpose::kImage && is_own) shown.quiet = true;
  TIDEMILL_TRY(DockerProgram docker, DockerProgram::Find(shown, around));
  TIDEMILL_TRY(BuiltImage built, Builder(docker, around, flags, purpose).Run(folder));
  return MadeEnv{std::move(folder), std::move(docker), std::move(built)};
}

}  // namespace tidemill::cli
