// SPDX-License-Identifier: Apache-2.0
#include "env/jupyter.h"

namespace tidemill {

std::string JupyterLayer() {
  return "USER root\n"
         "ARG PIP_INDEX_URL\nARG PIP_EXTRA_INDEX_URL\nARG PIP_TRUSTED_HOST\n"
         "RUN python3 -c 'import jupyter_server, ipykernel' 2> /dev/null \\\n"
         " || ( python3 -m pip list --disable-pip-version-check --format=freeze \\\n"
         "        > /tmp/pins.txt \\\n"
         "      && python3 -m pip install --disable-pip-version-check --no-cache-dir \\\n"
         "        --constraint /tmp/pins.txt jupyterlab ipykernel \\\n"
         "      && rm /tmp/pins.txt )\n";
}

std::vector<std::string> JupyterWords(const std::string& folder, const std::string& address) {
  // An environment that brings a server of its own may have no JupyterLab.
  const std::string start =
      "app=jupyter_server\n"
      "python3 -c 'import jupyterlab' 2> /dev/null && app=jupyterlab\n"
      "exec python3 -m $app \"$@\"\n";
  return {"-c", start, "jupyter", "--no-browser", "--allow-root", "--log-level=WARN",
          "--ServerApp.root_dir=" + folder,
          // Its container's own addresses: of the machine's only loopback leads there.
          "--ServerApp.ip=" + address, "--ServerApp.port=" + std::to_string(kJupyterPort),
          "--ServerApp.port_retries=0",
          // Whoever comes by another name than localhost is refused, token or not.
          "--ServerApp.allow_remote_access=False"};
}

}  // namespace tidemill
