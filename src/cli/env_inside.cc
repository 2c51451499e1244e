// SPDX-License-Identifier: Apache-2.0
#include "cli/env_inside.h"

#include <algorithm>
#include <string_view>

#include "wire/oci_json.h"

namespace tidemill::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kRuntime = "tidemill";
constexpr std::string_view kNvidiaKind = "nvidia.com/gpu";

void Append(Words& words, Words more) {
  words.insert(words.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

std::string Join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// A field of `--mount`, which is read as a line of CSV.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// "KIND=0,1" as the names of its devices; a kind alone means all of it.
Result<Words> NamesOf(const std::string& device) {
  const std::size_t equals = device.find('=');
  const std::string kind = device.substr(0, equals);
  const std::size_t slash = kind.find('/');
  const bool is_kind = slash != std::string::npos && slash > 0 && slash + 1 < kind.size() &&
                       kind.find_first_of(", ") == std::string::npos;
  if (!is_kind) {
    return Fail(Code::kInvalid,
                "--device: must be nvidia.com/gpu, nvidia.com/gpu=0,1 or a path, "
                "not '" +
                    device + "'");
  }
  if (equals == std::string::npos) return Words{kind + "=all"};
  Words names;
  std::string rest = device.substr(equals + 1) + ",";
  for (std::size_t comma; (comma = rest.find(',')) != std::string::npos;) {
    if (comma == 0) return Fail(Code::kInvalid, "--device: an id is missing in '" + device + "'");
    names.push_back(kind + "=" + rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  return names;
}

// As `--gpus` takes them, which is a line of CSV too.
std::string GpusOf(const Words& names) {
  Words ids;
  for (const std::string& name : names) ids.push_back(name.substr(kNvidiaKind.size() + 1));
  if (std::find(ids.begin(), ids.end(), "all") != ids.end()) return "all";
  return "\"device=" + Join(ids) + "\"";
}

Result<Words> DeviceWords(const Words& devices, const DockerInfo& docker) {
  Words words;
  Words names;
  for (const std::string& device : devices) {
    if (device.starts_with('/')) {
      Append(words, {"--device", device});
      continue;
    }
    TIDEMILL_TRY(Words found, NamesOf(device));
    Append(names, std::move(found));
  }
  if (names.empty()) return words;
  const bool has_runtime =
      std::find(docker.runtimes.begin(), docker.runtimes.end(), kRuntime) != docker.runtimes.end();
  const bool is_nvidia = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with(std::string(kNvidiaKind) + "=");
  });
  if (!docker.cdi_folders.empty()) {
    for (const std::string& name : names) Append(words, {"--device", name});
  } else if (has_runtime) {
    Append(words, {"--runtime", std::string(kRuntime), "--env",
                   std::string(kCdiVariable) + "=" + Join(names)});
  } else if (is_nvidia) {
    Append(words, {"--gpus", GpusOf(names)});
  } else {
    return Fail(Code::kUnavailable,
                "this Docker cannot give devices of CDI specs to containers; run on this machine: "
                "sudo tidemill-runtime install --docker");
  }
  return words;
}

// As whom it runs, so that files are the person's own on the machine.
Words UserWords(const InsidePlan& plan, const DockerInfo& docker) {
  // Root there is the person here.
  if (docker.rootless) return {"--user", "0:0"};
  Words words = {"--user", std::to_string(plan.uid) + ":" + std::to_string(plan.gid)};
  if (docker.remaps_users) Append(words, {"--userns", "host"});
  return words;
}

}  // namespace

Result<Words> InsideWords(const InsidePlan& plan, const DockerInfo& docker) {
  // With an init, Ctrl-C also ends programs that do not expect to be a container's first.
  Words words = {"run", "--rm", "--init"};
  if (plan.input) words.emplace_back("--interactive");
  // Docker would keep each Ctrl-P back, to see whether a Ctrl-Q follows.
  if (plan.terminal) Append(words, {"--tty", "--detach-keys", "ctrl-^,ctrl-^,ctrl-^"});
  Append(words, UserWords(plan, docker));
  Append(words,
         {"--mount", "type=bind," + CsvField("source=" + plan.folder) + ",target=" + kWorkFolder});
  Append(words, {"--workdir", kWorkFolder});
  // Images know neither the person nor a folder of theirs.
  Append(words, {"--env", "HOME=/tmp"});
  if (!plan.user.empty()) Append(words, {"--env", "USER=" + plan.user});
  for (const std::string& variable : plan.variables) Append(words, {"--env", variable});
  TIDEMILL_TRY(Words devices, DeviceWords(plan.devices, docker));
  Append(words, std::move(devices));
  if (plan.port != 0) {
    Append(words, {"--publish", "127.0.0.1:" + std::to_string(plan.port) + ":" +
                                    std::to_string(plan.port_inside)});
  }
  if (!plan.program.empty()) Append(words, {"--entrypoint", plan.program});
  words.push_back(plan.image);
  Append(words, plan.command);
  return words;
}

Words ShellWords(const std::string& name) {
  // Without the image's own rc: its prompt would say that the person has no name.
  return {"-c",
          "if command -v bash > /dev/null; then\n"
          "  PS1='" +
              name +
              ":\\w\\$ ' exec bash --norc\n"
              "fi\n"
              "PS1='" +
              name + "$ ' exec sh\n"};
}

}  // namespace tidemill::cli
