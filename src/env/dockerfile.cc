// SPDX-License-Identifier: Apache-2.0
#include "env/dockerfile.h"

#include "env/scripts.h"

namespace tidemill {
namespace {

constexpr const char* kPins = "tidemill/pins.txt";
constexpr const char* kPipScriptPath = "tidemill/resolve.py";
constexpr const char* kConda = "tidemill/conda.json";
constexpr const char* kCondaScriptPath = "tidemill/conda.py";

// Where pip looks is a matter of who builds, and not kept in the image.
constexpr std::string_view kArguments =
    "ARG PIP_INDEX_URL\nARG PIP_EXTRA_INDEX_URL\nARG PIP_TRUSTED_HOST\n";

std::string AptText(const Environment& environment) {
  if (environment.apt.empty()) return "";
  std::string text =
      "RUN apt-get update \\\n"
      " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends";
  for (const std::string& package : environment.apt) text += " \\\n      " + package;
  return text + " \\\n && rm -rf /var/lib/apt/lists/*\n";
}

std::string CopyText(const std::string& path) { return "COPY " + path + " /" + path + "\n"; }

// All up to what is installed by pip, alike in both. It is a venv, for Debian's and Ubuntu's pip
// refuse to install beside apt.
std::string BeginText(const Environment& environment, const std::string& base) {
  return "FROM " + base + "\nUSER root\n" + AptText(environment) +
         "RUN python3 -m venv /opt/env\n"
         "ENV PATH=/opt/env/bin:$PATH VIRTUAL_ENV=/opt/env\n" +
         std::string(kArguments);
}

// The same for conda, whose packages bring their own Python: what installs them is left behind. Its
// version is said, for its lock is a file of that version.
std::string CondaBeginText(const std::string& base) {
  return "FROM " + base + " AS conda\nUSER root\n" + std::string(kArguments) +
         "RUN python3 -m venv /opt/conda \\\n"
         " && /opt/conda/bin/pip install --no-cache-dir py-rattler==0.28.0\n" +
         CopyText(kPipScriptPath) + CopyText(kCondaScriptPath);
}

std::string CodeText(const Environment& environment) {
  std::string text;
  if (environment.base == kGpuBase) {
    // For machines with NVIDIA's own runtime, which gives a container no more than it asks for.
    text += "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility\n";
  }
  text += "WORKDIR /work\nENV PYTHONPATH=/work PYTHONUNBUFFERED=1\n";
  if (environment.code) text += "COPY " + std::string(kContextCode) + " /work\n";
  return text;
}

std::string PipImage(const Environment& environment, const EnvLock& lock,
                     const std::string& tools) {
  std::string text = BeginText(environment, lock.base);
  if (!lock.pins.empty()) {
    text += "COPY " + std::string(kPins) + " /opt/env/pins.txt\n";
    text += "RUN pip install --no-cache-dir --no-deps --require-hashes -r /opt/env/pins.txt\n";
  }
  return text + tools + CodeText(environment);
}

std::string CondaImage(const Environment& environment, const EnvLock& lock,
                       const std::string& tools) {
  return CondaBeginText(lock.base) + CopyText(kPins) + "RUN /opt/conda/bin/python /" +
         kCondaScriptPath + " build /" + kPins + "\nFROM " + lock.base + "\nUSER root\n" +
         AptText(environment) +
         "COPY --from=conda /opt/env /opt/env\n"
         "ENV PATH=/opt/env/bin:$PATH CONDA_PREFIX=/opt/env\n" +
         tools + CodeText(environment);
}

std::string CondaResolve(const Environment& environment, const std::string& base) {
  std::string text = CondaBeginText(base);
  // Nobody builds where the GPU is: packages for one are chosen as if there were a driver for it.
  if (environment.base == kGpuBase) text += "ENV CONDA_OVERRIDE_CUDA=12\n";
  text += "WORKDIR /code\nCOPY " + std::string(kContextCode) + " /code\n" + CopyText(kConda);
  return text + "CMD [\"/opt/conda/bin/python\", \"/" + kCondaScriptPath + "\", \"resolve\", \"/" +
         kConda + "\"]\n";
}

std::string PipResolve(const Environment& environment, const std::string& base) {
  std::string text = BeginText(environment, base);
  text +=
      "WORKDIR /code\nCOPY " + std::string(kContextCode) + " /code\n" + CopyText(kPipScriptPath);
  return text + "CMD [\"python3\", \"/" + kPipScriptPath + "\", \"" + environment.from + "\"]\n";
}

bool IsConda(const Environment& environment) {
  return EnvSourceOf(environment.from) == EnvSource::kConda;
}

}  // namespace

std::string BaseImage(const Environment& environment) {
  // Frameworks' packages bring their own CUDA, and the driver comes from the machine: an image with
  // either would be gigabytes larger and right for one kind of machine only.
  const bool is_ours = environment.base == kCpuBase || environment.base == kGpuBase;
  return is_ours ? "python:" + environment.python + "-slim" : environment.base;
}

std::vector<ContextFile> ResolveContext(const Environment& environment, const std::string& base,
                                        const std::string& conda) {
  std::vector<ContextFile> files = {{kPipScriptPath, std::string(PipScript())}};
  if (!IsConda(environment)) {
    files.push_back({kContextDockerfile, PipResolve(environment, base)});
    return files;
  }
  files.push_back({kContextDockerfile, CondaResolve(environment, base)});
  files.push_back({kConda, conda});
  files.push_back({kCondaScriptPath, std::string(CondaScript())});
  return files;
}

std::vector<ContextFile> ImageContext(const Environment& environment, const EnvLock& lock,
                                      const std::string& tools) {
  std::vector<ContextFile> files = {{kPins, lock.pins}};
  if (!IsConda(environment)) {
    files.push_back({kContextDockerfile, PipImage(environment, lock, tools)});
    return files;
  }
  files.push_back({kContextDockerfile, CondaImage(environment, lock, tools)});
  files.push_back({kPipScriptPath, std::string(PipScript())});
  files.push_back({kCondaScriptPath, std::string(CondaScript())});
  return files;
}

}  // namespace tidemill
