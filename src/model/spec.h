// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/data.h"
#include "model/volume.h"

namespace tidemill {

// A secret of the project, as the items of a job get it.
struct SecretUse {
  std::string secret;  // its name in the project
  std::string env;     // the variable that holds it; or
  std::string file;    // the file below $TIDEMILL_SECRETS that holds it: just one of the two is set
  bool operator==(const SecretUse&) const = default;
};

// How the items of a job run.
enum class Mode : std::uint8_t {
  kProcess,    // a fresh process in a warm container
  kContainer,  // a fresh container
  kLoop,       // one program that stays up and asks for item after item
};

std::string_view ModeName(Mode mode);
std::optional<Mode> ParseMode(std::string_view name);

// What is run for the items of a job: the part of a spec's document that agents read. The other
// part, what servers decide by, is JobSpec.
struct RunSpec {
  std::string image;             // empty: none, which only the process engine can run
  std::string image_login = {};  // the secret with the login of its registry; empty: none
  // With templates, as are the values of `env`; see model/template.h.
  std::optional<std::vector<std::string>> entrypoint;
  std::optional<std::vector<std::string>> command;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> params;  // what {params.name} stands for
  std::vector<SecretUse> secrets;
  // With templates in their URLs, but for {attempt}, {input} and {output}.
  std::vector<DataInput> inputs = {};
  std::vector<DataOutput> outputs = {};
  OutputExists output_exists = OutputExists::kFail;
  bool skip_existing = false;  // an item whose outputs are there is not run
  std::vector<CacheUse> cache = {};
  std::vector<VolumeMount> mounts = {};
  std::string role = {};  // of a cloud, which items have the keys of; empty: none
  std::chrono::milliseconds checkpoint_every{0};  // 0: items have no checkpoints
  // The items' working folder: "blob:SHA256" in a job that is made; in a person's file a folder, or
  // a URL. Empty: the image's own.
  std::string code = {};
  std::int64_t shm_bytes = 0;   // 0: the engine's own default
  std::int64_t disk_bytes = 0;  // what an item may write; 0: as much as there is
  Mode mode = Mode::kProcess;
  // Exit codes. An item that failed with another than one of `retry_on`, if there are some, or with
  // one of `retry_never`, is not tried again.
  std::vector<std::int32_t> retry_on = {};
  std::vector<std::int32_t> retry_never = {};
  std::chrono::milliseconds timeout{0};     // 0: none
  std::chrono::milliseconds grace{10'000};  // between SIGTERM and SIGKILL
  bool operator==(const RunSpec&) const = default;
};

}  // namespace tidemill
