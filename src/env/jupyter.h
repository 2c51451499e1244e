// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// Jupyter beside an environment's packages. It is never in the image that machines run.
namespace tidemill {

// The port on which it listens in its container.
inline constexpr int kJupyterPort = 8888;

// The end of a Dockerfile: installs Jupyter unless the image has one. What is installed already
// stays as it is.
std::string JupyterLayer();

// What /bin/sh is given to start it, with `folder` as its own. Its token comes as JUPYTER_TOKEN.
std::vector<std::string> JupyterWords(const std::string& folder);

}  // namespace tidemill
