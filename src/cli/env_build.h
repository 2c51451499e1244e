// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/console.h"
#include "cli/env.h"
#include "cli/env_docker.h"
#include "cli/env_folder.h"
#include "wire/environment_json.h"

namespace tidemill::cli {

// What an environment's image is for.
enum class EnvPurpose {
  kImage,         // machines: with the code
  kWork,          // work here: without the code, in whose place the folder itself will stand
  kJupyter,       // the same with Jupyter
  kJupyterImage,  // machines: with Jupyter, and the code
};

// A folder's image, and all that it took.
struct MadeEnv {
  EnvFolder folder;
  DockerProgram docker;
  BuiltImage built;
};

// Builds it unless it is there. kNotFound, kInvalid: what the person must do; else what failed.
Result<MadeEnv> MakeEnv(const Console& console, const Surroundings& around, const EnvFlags& flags,
                        EnvPurpose purpose);

// Sends it to a registry, by the name `to` and its tag, or by its own if that is empty; it is
// called so from then on.
Result<void> PushEnv(MadeEnv& made, const std::string& to);

// Says what is wrong; the exit code for it.
int RefuseEnv(const Console& console, const Error& error);

}  // namespace tidemill::cli
