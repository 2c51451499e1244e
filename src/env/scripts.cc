// SPDX-License-Identifier: Apache-2.0
#include "env/scripts.h"

namespace tidemill {

namespace {

constexpr std::string_view kPip = R"py(import json, re, subprocess, sys, tempfile

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


def pins(flags, *more):
    """A line for each package that pip would install; ends where it cannot."""
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", *more, "install"]
    words += ["--quiet", "--dry-run", "--report", "-", *flags]
    done = subprocess.run(words, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return sorted(pin(each) for each in json.loads(done.stdout)["install"])


if __name__ == "__main__":
    for line in pins(["--ignore-installed", *flags_for(sys.argv[1])]):
        print(line)
)py";

constexpr std::string_view kCondaScript = R"py(import asyncio, json, subprocess, os, sys
from rattler import Channel, ChannelConfig, Subdir, VirtualPackage, VirtualPackageOverrides
from rattler import install, solve
from rattler.lock import LockChannel, LockFile, LockPlatform

PREFIX = "/opt/env"
PIP = "# pip "  # a comment to those who read the other lines
USUAL = "https://conda.anaconda.org/"
# What "defaults" means where nobody has said otherwise.
DEFAULTS = ["https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r"]


def channels(said):
    config = ChannelConfig(os.environ.get("CONDA_CHANNEL_ALIAS") or USUAL)
    names = []
    for name in said or ["conda-forge"]:
        names += DEFAULTS if name == "defaults" else [name] if name != "nodefaults" else []
    return [Channel(name, config) for name in names]


def link(records):
    asyncio.run(install(records, PREFIX, show_progress=False, execute_link_scripts=True))


def pip_pins(lines):
    from resolve import pins

    path = "/code/.tidemill-pip.txt"  # where the files are that it may name
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return pins(["-r", path], "--python", PREFIX + "/bin/python")


def resolve(path):
    with open(path) as file:
        said = json.load(file)
    wanted = channels(said["channels"])
    here = Subdir.current()
    machine = VirtualPackage.detect(VirtualPackageOverrides.from_env())
    found = asyncio.run(
        solve(wanted, said["dependencies"], platforms=[here, "noarch"], virtual_packages=machine)
    )
    platform = LockPlatform(str(here))
    lock = LockFile([platform])
    lock.set_channels("default", [LockChannel(each.base_url) for each in wanted])
    for record in sorted(found, key=lambda each: each.url):
        lock.add_conda_package("default", platform, record)
    lock.to_path("/tmp/lock")
    with open("/tmp/lock") as file:
        print(file.read(), end="")
    if said["pip"]:
        link(found)
        for line in pip_pins(said["pip"]):
            print(PIP + line)


def build(path):
    environment = LockFile.from_path(path).default_environment()
    (records,) = environment.conda_repodata_records().values()
    link(records)
    with open(path) as file:
        lines = [line[len(PIP) :] for line in file if line.startswith(PIP)]
    if not lines:
        return
    with open("/tmp/pins.txt", "w") as file:
        file.writelines(lines)
    words = [sys.executable, "-m", "pip", "--python", PREFIX + "/bin/python", "install"]
    words += ["--no-cache-dir", "--no-deps", "--require-hashes", "-r", "/tmp/pins.txt"]
    sys.exit(subprocess.run(words).returncode)


try:
    {"resolve": resolve, "build": build}[sys.argv[1]](sys.argv[2])
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
)py";

}  // namespace

std::string_view PipScript() { return kPip; }
std::string_view CondaScript() { return kCondaScript; }

}  // namespace tidemill
