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
};
Result<DockerVersion> ParseDockerVersion(std::string_view body);

struct DockerImage {
  std::string id;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
};
Result<DockerImage> ParseDockerImage(std::string_view body);

struct DockerState {
  bool running = false;
  std::int64_t pid = 0;  // of its first process, on the machine; 0: none
  std::int64_t exit_code = 0;
  bool out_of_memory = false;
  std::string error;
};
Result<DockerState> ParseDockerState(std::string_view body);

// The names of containers, without the slash; the id of one that has none.
inline constexpr std::size_t kDockerContainersMost = 10'000;
Result<std::vector<std::string>> ParseDockerNames(std::string_view body);

// The sentence in the body of an error; the body's beginning if there is none.
std::string DockerMessage(std::string_view body);

// One line of the progress of a pull: the reason if it says that the pull has failed.
std::optional<std::string> DockerPullError(std::string_view line);

struct DockerMount {
  std::string source;
  std::string target;
  bool read_only = true;
};

struct DockerCreate {
  std::string image;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<DockerMount> mounts;
  std::int64_t nano_cpus = 0;     // 0: no limit
  std::int64_t memory_bytes = 0;  // 0: no limit; swap is none on top of it
  std::int64_t shm_bytes = 0;     // 0: the Engine's default
  std::int64_t pids = 0;
};
// POST /containers/create: with no more rights than an item needs, and with nothing that would go
// on by itself (no restart, no health check, no log of the Engine's own).
std::string FormatDockerCreate(const DockerCreate& create);

// The `filters` of a list: containers with this label and value.
std::string FormatDockerLabelFilter(std::string_view label, std::string_view value);

}  // namespace tidemill
