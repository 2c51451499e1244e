// SPDX-License-Identifier: Apache-2.0
#include "env/dockerfile.h"

namespace tidemill {
namespace {

// One that is not the system's own: Debian's and Ubuntu's pip refuse to install beside apt.
constexpr std::string_view kVenv = "/opt/env";

std::string AptText(const Environment& environment) {
  if (environment.apt.empty()) return "";
  std::string text =
      "RUN apt-get update \\\n"
      " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends";
  for (const std::string& package : environment.apt) text += " \\\n      " + package;
  return text + " \\\n && rm -rf /var/lib/apt/lists/*\n";
}

// All up to what is installed by pip, alike in both.
std::string BeginText(const Environment& environment, const std::string& base) {
  std::string text = "FROM " + base + "\nUSER root\n" + AptText(environment);
  text += "RUN python3 -m venv " + std::string(kVenv) + "\n";
  text += "ENV PATH=" + std::string(kVenv) + "/bin:$PATH VIRTUAL_ENV=" + std::string(kVenv) + "\n";
  // Where pip looks is a matter of who builds, and not kept in the image.
  text += "ARG PIP_INDEX_URL\nARG PIP_EXTRA_INDEX_URL\nARG PIP_TRUSTED_HOST\n";
  return text;
}

}  // namespace

std::string BaseImage(const Environment& environment) {
  // Frameworks' packages bring their own CUDA, and the driver comes from the machine: an image with
  // either would be gigabytes larger and right for one kind of machine only.
  const bool is_ours = environment.base == kCpuBase || environment.base == kGpuBase;
  return is_ours ? "python:" + environment.python + "-slim" : environment.base;
}

std::string ResolveDockerfile(const Environment& environment) {
  const std::string script = "/" + std::string(kContextScript);
  std::string text = BeginText(environment, BaseImage(environment));
  text += "WORKDIR /code\nCOPY " + std::string(kContextCode) + " /code\n";
  text += "COPY " + std::string(kContextScript) + " " + script + "\n";
  return text + "CMD [\"python3\", \"" + script + "\", \"" + environment.from + "\"]\n";
}

std::string ImageDockerfile(const Environment& environment, const EnvLock& lock) {
  std::string text = BeginText(environment, lock.base);
  if (!lock.pins.empty()) {
    text += "COPY " + std::string(kContextPins) + " /opt/env/pins.txt\n";
    text += "RUN pip install --no-cache-dir --no-deps --require-hashes -r /opt/env/pins.txt\n";
  }
  if (environment.base == kGpuBase) {
    // For machines with NVIDIA's own runtime, which gives a container no more than it asks for.
    text += "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility\n";
  }
  text += "WORKDIR /work\nENV PYTHONPATH=/work PYTHONUNBUFFERED=1\n";
  if (environment.code) text += "COPY " + std::string(kContextCode) + " /work\n";
  return text;
}

std::string ResolveScript() {
  return R"py(import json, re, subprocess, sys, tempfile

try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib


def read_toml(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def of_pipfile(path):
    for name, said in read_toml(path).get("packages", {}).items():
        said = {"version": said} if isinstance(said, str) else said
        if "version" not in said:
            sys.exit(f"{path}: {name}: only packages with a version are understood")
        extras = "[" + ",".join(said["extras"]) + "]" if "extras" in said else ""
        version = "" if said["version"] == "*" else said["version"]
        marker = " ; " + said["markers"] if "markers" in said else ""
        yield name + extras + version + marker


def flags_for(path):
    if path.endswith(".txt"):
        return ["-r", path]
    if path.endswith(".toml"):
        lines = read_toml(path).get("project", {}).get("dependencies", [])
    else:
        lines = list(of_pipfile(path))
    wanted = tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False)
    with wanted:
        wanted.write("\n".join(lines) + "\n")
    return ["-r", wanted.name]


def pin(install):
    name, version = install["metadata"]["name"], install["metadata"]["version"]
    digest = install["download_info"].get("archive_info", {}).get("hash", "")
    if not digest.startswith("sha256="):
        sys.exit(f"{name}: {install['download_info']['url']} is no archive with a checksum")
    return f"{re.sub('[-_.]+', '-', name).lower()}=={version} --hash=sha256:{digest[7:]}"


words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
words += ["--dry-run", "--ignore-installed", "--report", "-"]
done = subprocess.run(words + flags_for(sys.argv[1]), stdout=subprocess.PIPE)
if done.returncode != 0:
    sys.exit(done.returncode)
for line in sorted(pin(each) for each in json.loads(done.stdout)["install"]):
    print(line)
)py";
}

}  // namespace tidemill
