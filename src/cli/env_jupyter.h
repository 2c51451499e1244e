// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/random.h"
#include "base/result.h"
#include "cli/console.h"
#include "wire/environment_json.h"

// What Jupyter needs on the person's machine, wherever it runs itself.
namespace tidemill::cli {

// The port that was asked for, or the first that is free. kUnavailable, with what to do.
Result<int> JupyterPortFor(int asked);
std::string MakeJupyterToken(Random& random);
JupyterPlace JupyterPlaceAt(int port, const std::string& token, const std::string& image);
// `how` says for whom it is, and how it ends.
void ShowJupyter(const Console& console, const JupyterPlace& place, const std::string& how);

}  // namespace tidemill::cli
