// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/random.h"
#include "cli/console.h"
#include "cli/env.h"

// Work inside an environment's image, on this machine: the folder itself stands in the place of the
// code, and the person is who they are.
namespace tidemill::cli {

// Exit codes beside those of all commands: a device that was asked for is not seen; and what should
// have run did not begin, as `docker run` has it.
inline constexpr int kNoDevice = 7;
inline constexpr int kNotBegun = 125;

// These become `docker run`, and return only if it did not come to that. The command's exit code is
// ours.
int EnvRun(const Console& console, const Surroundings& around, const EnvFlags& flags);
int EnvShell(const Console& console, const Surroundings& around, const EnvFlags& flags);
int EnvJupyter(const Console& console, const Surroundings& around, Random& random,
               const EnvFlags& flags);

// What python and its frameworks find.
int EnvTest(const Console& console, const Surroundings& around, const EnvFlags& flags);

}  // namespace tidemill::cli
