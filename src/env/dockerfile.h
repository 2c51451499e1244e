// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "env/lock.h"
#include "model/environment.h"

// The Dockerfiles that an environment becomes, and the files that they copy. What changes seldom
// stands first, so that a change of code makes one layer anew. Pure.
namespace tidemill {

// A file of what an engine is given to build.
struct ContextFile {
  std::string path;
  std::string text;
};

inline constexpr const char* kContextDockerfile = "tidemill/Dockerfile";
// Where the folder's own files stand.
inline constexpr const char* kContextCode = "code";

// The image that its base stands for.
std::string BaseImage(const Environment& environment);

// Of an image on that base that, when it is run, finds out what the environment's file means, and
// prints it as EnvLock::pins. `conda` is that file, as JSON, if it is one of conda's.
std::vector<ContextFile> ResolveContext(const Environment& environment, const std::string& base,
                                        const std::string& conda);
// Of the image itself; `tools` are lines of its Dockerfile that stand before its code.
std::vector<ContextFile> ImageContext(const Environment& environment, const EnvLock& lock,
                                      const std::string& tools = "");

}  // namespace tidemill
