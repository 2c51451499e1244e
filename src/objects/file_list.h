// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "objects/object_store.h"

namespace tidemill {

// The files below a folder as a page of keys. Blocks: for the threads of a worker. Any thread.
//
// A page reads each folder that it touches once or twice and holds about `most` of its names,
// however many there are: whoever lists long folders asks for long pages. Links to files are files;
// links to folders are not followed, and folders that may not be read are passed over.
Result<ListPage> ListFiles(const std::string& root, const ListOptions& options);

}  // namespace tidemill
