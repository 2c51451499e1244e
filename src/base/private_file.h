// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

#include "base/log.h"

namespace tidemill {

// Whether other accounts of this machine may read the file, or write to it. A file that is not
// there: no.
bool IsOpenToOthers(const std::string& path);

// Tells of those of the files, which hold keys or tokens, that are open to others. Only a warning:
// some systems that hand out such files (Kubernetes for one) make them so, in a place of their own.
// Empty names are left out.
void WarnOfOpenFiles(Log& log, std::initializer_list<std::string> paths);

}  // namespace tidemill
