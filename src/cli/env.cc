// SPDX-License-Identifier: Apache-2.0
#include "cli/env.h"

#include <filesystem>

#include "cli/env_build.h"
#include "cli/env_folder.h"
#include "cli/format.h"
#include "model/image.h"
#include "wire/environment_json.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

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
        WriteEnvFile(fs::path(flags.folder) / from, "# One package a line, such as: numpy>=1.26\n");
    if (!list) return RefuseEnv(console, list.error());
  }
  const auto written = WriteEnvFile(file, EnvText(environment));
  if (!written) return RefuseEnv(console, written.error());
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
  const auto made = MakeEnv(console, around, flags, EnvPurpose::kImage);
  if (!made) return RefuseEnv(console, made.error());
  ShowBuilt(console, made->folder, made->built);
  return kDone;
}

Result<void> CheckPushName(const std::string& to) {
  const auto wanted = ParseImageName(to);
  if (to.empty() || (wanted && wanted->repository == to)) return {};
  return Fail(Code::kInvalid,
              "--to: the name of an image without a tag is needed, as host:5000/films");
}

int EnvPush(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  if (const auto right = CheckPushName(flags.to); !right) {
    console.ErrLine(right.error().reason);
    return kWrongUse;
  }
  auto made = MakeEnv(console, around, flags, EnvPurpose::kImage);
  if (!made) return RefuseEnv(console, made.error());
  if (const auto pushed = PushEnv(*made, flags.to); !pushed) {
    return RefuseEnv(console, pushed.error());
  }
  const std::string& to = made->built.image;
  if (console.json) {
    console.Line(FormatBuiltImage(made->built));
  } else {
    console.Line(console.quiet ? to : "Pushed " + to + ". A spec names it so:  image: " + to);
  }
  return kDone;
}

}  // namespace tidemill::cli
