// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/zstd_stream.h"
#include "cli/upload.h"
#include "submit/path_map.h"

// Lists of items that are more than lines of text, as lines: what ItemSource reads. Errors name the
// file and the line: kInvalid, "list.csv:7: ...".
namespace tidemill::cli {

// The records of comma-separated values, as JSON objects with the columns that the first one names.
ByteRead ReadCsvItems(ByteRead from, std::string name, char separator);
// JSON lines: each an object, or empty, which means nothing.
ByteRead ReadJsonItems(ByteRead from, std::string name);
// The same lines, with the paths in them as the machines find them: a line of text as a whole, of a
// JSON object its strings.
ByteRead MapItemPaths(ByteRead from, std::string name, PathMap paths);
// The same lines, with the URLs of stored copies in the place of paths: a line of text as a whole,
// unless it is a URL; of a JSON object the strings that begin with "/", "./" or "../" and name
// something here. `uploader` outlives what is returned.
ByteRead UploadItemPaths(ByteRead from, std::string name, Uploader& uploader);

}  // namespace tidemill::cli
