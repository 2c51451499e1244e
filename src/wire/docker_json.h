// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

// What the Docker Engine says and is told. Its answers are long and grow with each version: what is
// not needed is passed over, and what is needed is checked.
namespace tidemill {

struct DockerVersion {
  std::string version;      // "20.10.24"
  std::string api_version;  // "1.41"
  std::string runc = {};    // "1.1.5"; empty if the Engine does not tell
};
Result<DockerVersion> ParseDockerVersion(std::string_view body);

struct DockerInfo {
  bool remaps_users = false;  // the root of its containers is nobody on the machine
  bool rootless = false;      // the root of its containers is the person who runs it
  // Where it reads CDI specs, if it knows them (Docker 25 and newer) and is allowed to.
  std::vector<std::string> cdi_folders = {};
  std::vector<std::string> runtimes = {};  // by name, as they are registered with it
  std::string default_runtime = {};        // that of containers which name none
};
Result<DockerInfo> ParseDockerInfo(std::string_view body);

struct DockerNetwork {
  std::string bridge;        // the interface; empty if it is no bridge that somebody named
  bool keeps_apart = false;  // its containers cannot reach each other
  bool operator==(const DockerNetwork&) const = default;
};
Result<DockerNetwork> ParseDockerNetwork(std::string_view body);
// POST /networks/create.
std::string FormatDockerNetwork(const std::string& name, const DockerNetwork& network);

struct DockerImage {
  std::string id;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::string> digests = {};  // as registries know it: "h:5000/a@sha256:12"
};
Result<DockerImage> ParseDockerImage(std::string_view body);

struct DockerState {
  bool running = false;
  std::int64_t written_bytes = 0;  // in its own layer; 0 if that was not asked for
  std::string image = {};          // its id
  std::string spec = {};           // the label that kDockerSpecLabel names; empty: it has none
  std::int64_t pid = 0;            // of its first process, on the machine; 0: none
  std::int64_t exit_code = 0;
  bool out_of_memory = false;
  std::string error;
};
inline constexpr char kDockerSpecLabel[] = "tidemill.spec";
Result<DockerState> ParseDockerState(std::string_view body);

// The names of containers, without the slash; the id of one that has none.
inline constexpr std::size_t kDockerContainersMost = 10'000;
Result<std::vector<std::string>> ParseDockerNames(std::string_view body);

// The sentence in the body of an error; the body's beginning if there is none.
std::string DockerMessage(std::string_view body);

// One line of the progress of a pull.
struct DockerPullLine {
  std::string status;                     // "Downloading"
  std::string layer;                      // its id; empty: it is not about one
  std::int64_t current = 0;               // of its bytes; never negative
  std::int64_t total = 0;                 // 0: it does not tell
  std::optional<std::string> error = {};  // why the pull has failed, if it says so
};
// Nothing: it is no such line.
std::optional<DockerPullLine> ParseDockerPullLine(std::string_view line);

// Who one is to a registry, as the Engine wants to be told of it; the text of the header
// X-Registry-Auth before it is encoded.
struct DockerAuth {
  std::string user;
  std::string password;
  std::string server;
};
std::string FormatDockerAuth(const DockerAuth& auth);

struct DockerMount {
  std::string source;
  std::string target;
  bool read_only = true;
  // A named volume, which the Engine makes if there is none of this name: these are the options of
  // its driver `local`. Empty: the source is a folder of the machine.
  std::vector<std::pair<std::string, std::string>> volume = {};
};

// Devices that the Engine brings in by itself.
struct DockerDeviceRequest {
  std::string driver;            // "cdi", "nvidia"
  std::vector<std::string> ids;  // as the driver names devices
  bool gpu = false;              // with the capability by which a driver of such is found
  bool operator==(const DockerDeviceRequest&) const = default;
};

struct DockerCreate {
  std::string image;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<DockerMount> mounts;
  std::string work_folder = {};                            // empty: the image's own
  std::vector<std::pair<std::string, std::string>> tmpfs;  // where, and its options
  std::vector<std::string> devices;                        // paths; it may read and write them
  std::vector<DockerDeviceRequest> device_requests = {};
  std::string runtime = {};           // empty: the Engine's default
  std::vector<std::string> env = {};  // NAME=value; goes before the image's own
  std::int64_t nano_cpus = 0;         // 0: no limit
  std::int64_t memory_bytes = 0;      // 0: no limit; swap is none on top of it
  std::int64_t shm_bytes = 0;         // 0: the Engine's default
  std::int64_t pids = 0;
  std::int64_t open_files = 0;
  std::string network;           // its name; "none": loopback only
  bool no_capabilities = false;  // else Docker's default few, less the dangerous ones
  bool read_only_root = false;   // with a /tmp of its own
  std::int64_t tmp_bytes = 0;    // the most that /tmp may hold then
};
// POST /containers/create: with no more rights than an item needs, in no namespace of the machine,
// and with nothing that would go on by itself (no restart, no health check, no log of the Engine's
// own). What is not named here is as the Engine has it by default: its seccomp filter, and the
// paths of /proc and /sys that it hides.
std::string FormatDockerCreate(const DockerCreate& create);

// The `filters` of a list: containers with this label and value.
std::string FormatDockerLabelFilter(std::string_view label, std::string_view value);

}  // namespace tidemill
