// SPDX-License-Identifier: Apache-2.0
#include "runtime/install.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/files.h"
#include "wire/runtime_json.h"

namespace tidemill {
namespace {

// They are written by hand, or by a tool that is no longer than that.
constexpr std::size_t kEngineConfigBytes = 1024 * 1024;
constexpr std::size_t kNameBytes = 64;

constexpr std::string_view kBegin = ": begin; removed by 'tidemill-runtime uninstall'";
// The line before had no end, and gets it back.
constexpr std::string_view kOpenLine = " (after an open line)";
constexpr std::string_view kEnd = ": end";

std::string Marker(const std::string& name) { return "# tidemill-runtime " + name; }

bool IsRuntimeName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  for (const char c : name) {
    if (!fits(c)) return false;
  }
  // Engines keep this one for themselves.
  return !name.empty() && name.size() <= kNameBytes && name != "runc";
}

Result<void> Check(const Installation& installation) {
  if (!IsRuntimeName(installation.name)) {
    return Fail(Code::kInvalid, "--name: must be of a-z, 0-9, '-' and '_', and not 'runc'");
  }
  const std::string& program = installation.program;
  if (!program.starts_with('/') || program.find_first_of("\"\\\n") != std::string::npos) {
    return Fail(Code::kInvalid, "our own path '" + program + "' is none that a file can name");
  }
  return {};
}

std::string ConfigOf(const Installation& installation) {
  if (!installation.config.empty()) return installation.config;
  switch (installation.host) {
    case RuntimeHost::kDocker:
      return "/etc/docker/daemon.json";
    case RuntimeHost::kContainerd:
      return "/etc/containerd/config.toml";
    case RuntimeHost::kCrio:
      return "/etc/crio/crio.conf.d/99-" + installation.name + ".conf";
  }
  return {};
}

std::string_view NextStep(RuntimeHost host) {
  switch (host) {
    case RuntimeHost::kDocker:
      return "systemctl reload docker";
    case RuntimeHost::kContainerd:
      return "systemctl restart containerd";
    case RuntimeHost::kCrio:
      return "systemctl restart crio";
  }
  return {};
}

std::string CrioFile(const Installation& installation) {
  return Marker(installation.name) + ": written and removed by 'tidemill-runtime install'\n" +
         "[crio.runtime.runtimes." + installation.name + "]\n" + "runtime_path = \"" +
         installation.program + "\"\nruntime_type = \"oci\"\n";
}

// Empty if there is none.
Result<std::string> ReadConfig(const std::string& path) {
  auto text = ReadWhole(path, kEngineConfigBytes);
  if (!text && text.error().code == Code::kNotFound) return std::string();
  return text;
}

Result<std::string> Added(const Installation& installation, const std::string& text) {
  const auto& [host, config, name, program] = installation;
  if (host == RuntimeHost::kDocker) return AddDockerRuntime(text, name, program);
  if (host == RuntimeHost::kContainerd) return AddContainerdRuntime(text, name, program);
  if (text.empty() || text.starts_with(Marker(name))) return CrioFile(installation);
  return Fail(Code::kConflict, "the file is there, and is not ours");
}

Result<std::string> Removed(const Installation& installation, const std::string& text) {
  const auto& [host, config, name, program] = installation;
  if (host == RuntimeHost::kDocker) return RemoveDockerRuntime(text, name);
  if (host == RuntimeHost::kContainerd) return RemoveContainerdRuntime(text, name);
  return text.starts_with(Marker(name)) ? std::string() : text;
}

// The version that containerd's file says it has, or 0.
int VersionOf(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (line.starts_with('[')) return 0;
    constexpr std::string_view kField = "version=";
    if (line.starts_with(kField)) return std::atoi(line.c_str() + kField.size());
  }
  return 0;
}

}  // namespace

std::string RemoveContainerdRuntime(std::string_view text, const std::string& name) {
  const std::string begin = Marker(name) + std::string(kBegin);
  const std::string end = Marker(name) + std::string(kEnd) + "\n";
  std::string out(text);
  const std::size_t from = out.find(begin);
  if (from == std::string::npos) return out;
  const std::size_t to = out.find(end, from);
  if (to == std::string::npos) return out;
  const bool open = std::string_view(out).substr(from + begin.size()).starts_with(kOpenLine);
  const std::size_t first = open && from > 0 ? from - 1 : from;
  return out.erase(first, to + end.size() - first);
}

Result<std::string> AddContainerdRuntime(std::string_view text, const std::string& name,
                                         const std::string& program) {
  std::string out = RemoveContainerdRuntime(text, name);
  for (const std::string& table : {"runtimes." + name + "]", "runtimes.\"" + name + "\"]"}) {
    if (out.find(table) == std::string::npos) continue;
    return Fail(Code::kConflict,
                "a runtime " + name + " is there already; choose another name with --name");
  }
  const bool is_new = out.find_first_not_of(" \t\r\n") == std::string::npos;
  const int version = is_new ? 2 : VersionOf(out);
  if (version != 2 && version != 3) {
    return Fail(Code::kInvalid,
                "it says neither 'version = 2' nor 'version = 3'; "
                "'containerd config migrate' writes it in a newer form");
  }
  const std::string table =
      std::string("[plugins.\"") +
      (version == 2 ? "io.containerd.grpc.v1.cri" : "io.containerd.cri.v1.runtime") +
      "\".containerd.runtimes." + name;
  const bool open = !out.empty() && out.back() != '\n';
  if (open) out += '\n';
  out.append(Marker(name)).append(kBegin).append(open ? kOpenLine : "").append("\n");
  if (is_new) out.append("version = 2\n");
  out.append(table).append("]\n  runtime_type = \"io.containerd.runc.v2\"\n");
  // Of containers, not of pods: the first are the kubelet's, the second are anybody's.
  out.append("  container_annotations = [\"cdi.k8s.io/*\"]\n");
  out.append(table).append(".options]\n  BinaryName = \"").append(program).append("\"\n");
  return out.append(Marker(name)).append(kEnd).append("\n");
}

Result<std::string> Install(Installation installation) {
  TIDEMILL_TRY_VOID(Check(installation));
  const std::string path = ConfigOf(installation);
  TIDEMILL_TRY(const std::string before, ReadConfig(path));
  const auto after = Added(installation, before);
  if (!after) return While(path, after.error());
  if (*after == before) return path + " has it already.\n";
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return Fail(Code::kUnavailable, path + ": " + error.message());
  TIDEMILL_TRY_VOID(ReplaceWhole(path, *after, Outlives::kPowerCut));
  std::string told = "Wrote " + path + ": the runtime '" + installation.name + "' is " +
                     installation.program + ".\nNext: " + std::string(NextStep(installation.host));
  if (installation.host == RuntimeHost::kDocker) {
    told += "; then: docker run --runtime " + installation.name +
            " -e TIDEMILL_CDI=vendor.com/class=name IMAGE";
  }
  return told + "\n";
}

Result<std::string> Uninstall(Installation installation) {
  TIDEMILL_TRY_VOID(Check(installation));
  const std::string path = ConfigOf(installation);
  TIDEMILL_TRY(const std::string before, ReadConfig(path));
  const auto after = Removed(installation, before);
  if (!after) return While(path, after.error());
  if (*after == before) return path + " has no runtime '" + installation.name + "' of ours.\n";
  // A file that has nothing else is one that we made.
  if (after->empty() && installation.host != RuntimeHost::kDocker) {
    if (unlink(path.c_str()) != 0)
      return Fail(Code::kUnavailable, path + ": " + std::strerror(errno));
  } else {
    TIDEMILL_TRY_VOID(ReplaceWhole(path, *after, Outlives::kPowerCut));
  }
  const std::string told = "Removed '" + installation.name + "' from " + path + ".\nNext: ";
  // It keeps the runtimes that it had if its file names none.
  if (installation.host == RuntimeHost::kDocker) {
    return told + "systemctl restart docker, when it suits; until then it may know the name\n";
  }
  return told + std::string(NextStep(installation.host)) + "\n";
}

}  // namespace tidemill
