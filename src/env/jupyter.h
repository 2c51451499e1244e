// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// Jupyter beside an environment's packages. It is never in the image that a job's items run.
namespace tidemill {

// The port on which it listens in its container.
inline constexpr int kJupyterPort = 8888;

// Lines of a Dockerfile that install Jupyter, unless the image has one. What is installed already
// stays as it is.
std::string JupyterLayer();

// What /bin/sh is given to start it, with `folder` as its own. Its token comes as JUPYTER_TOKEN.
// `address` is where it listens in its container: on all addresses, for Docker to lead there.
std::vector<std::string> JupyterWords(const std::string& folder,
                                      const std::string& address = "0.0.0.0");

}  // namespace tidemill
