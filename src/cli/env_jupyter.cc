// SPDX-License-Identifier: Apache-2.0
#include "cli/env_jupyter.h"

#include "base/digest.h"
#include "cli/up_folder.h"
#include "env/jupyter.h"

namespace tidemill::cli {
namespace {

constexpr int kPortsTried = 100;
constexpr int kTokenNumbers = 3;  // of 64 bits

}  // namespace

Result<int> JupyterPortFor(int asked) {
  if (asked != 0) {
    if (IsPortFree(asked)) return asked;
    return Fail(Code::kUnavailable, "port " + std::to_string(asked) +
                                        " of this machine is taken; without --port the next one "
                                        "that is free is used");
  }
  for (int port = kJupyterPort; port < kJupyterPort + kPortsTried; ++port) {
    if (IsPortFree(port)) return port;
  }
  return Fail(Code::kUnavailable, "no port from " + std::to_string(kJupyterPort) + " to " +
                                      std::to_string(kJupyterPort + kPortsTried - 1) +
                                      " is free on this machine; --port names another");
}

std::string MakeJupyterToken(Random& random) {
  std::string bytes;
  for (int i = 0; i < kTokenNumbers; ++i) {
    std::uint64_t number = random.Next();
    for (int byte = 0; byte < 8; ++byte, number >>= 8) bytes += static_cast<char>(number & 0xff);
  }
  return Hex(bytes);
}

JupyterPlace JupyterPlaceAt(int port, const std::string& token, const std::string& image) {
  return {"http://127.0.0.1:" + std::to_string(port) + "/?token=" + token, port, token, image};
}

void ShowJupyter(const Console& console, const JupyterPlace& place, const std::string& how) {
  if (console.json) {
    console.Line(FormatJupyterPlace(place));
    return;
  }
  console.Line(place.url);
  if (!console.quiet) console.ErrLine("Jupyter of " + place.image + " " + how);
}

}  // namespace tidemill::cli
