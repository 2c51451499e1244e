// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "model/cdi.h"

namespace tidemill {

// Fills in what the edits leave to the machine's own nodes, as they are under `root` ("/" if it is
// none of its own): type, numbers and mode. Owners stay open: they are those of the container's
// user. A node that says its type and numbers need not be there.
// kNotFound: a node is not there. kInvalid: it is no device, or another than the edits say.
Result<CdiEdits> ResolveNodes(CdiEdits edits, const std::string& root);

}  // namespace tidemill
