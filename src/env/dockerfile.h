// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "env/lock.h"
#include "model/environment.h"

// The Dockerfiles that an environment becomes. What changes seldom stands first, so that a change
// of code makes one layer anew. Pure.
namespace tidemill {

// Where things stand in what an engine is given to build.
inline constexpr const char* kContextDockerfile = "tidemill/Dockerfile";
inline constexpr const char* kContextPins = "tidemill/pins.txt";
inline constexpr const char* kContextScript = "tidemill/resolve.py";
inline constexpr const char* kContextCode = "code";

// The image that its base stands for.
std::string BaseImage(const Environment& environment);

// An image that, when it is run, finds out what the environment's file means, and prints it as
// EnvLock::pins.
std::string ResolveDockerfile(const Environment& environment);
// The image itself.
std::string ImageDockerfile(const Environment& environment, const EnvLock& lock);

// The program that the first runs: Python of its standard library, and its pip.
std::string ResolveScript();

}  // namespace tidemill
