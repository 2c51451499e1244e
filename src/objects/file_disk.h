// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "objects/download.h"
#include "objects/object_store.h"

namespace tidemill {

// Objects as files below a folder, step by step. All of it blocks: for the threads of a worker. Any
// thread.

// What the names of files that are not whole begin with.
inline constexpr std::string_view kFilePartPrefix = ".tidemill-part-";

// The path of an object. kInvalid: its key has an empty part, ".", "..", or one of our own names
// for files that are not whole.
Result<std::string> FilePathOf(const std::string& root, const std::string& key);

// Another content has another.
std::string FileTagOf(const struct stat& status);

Result<ObjectInfo> HeadFile(const std::string& path, const std::string& key);
Result<ObjectPart> ReadFilePart(const std::string& path, const std::string& key,
                                const Download::Ask& ask);

// A file that has no name yet that a key could have.
struct NewFile {
  std::string path = {};  // of the object
  std::string part = {};  // its name until it is whole
  Fd fd = {};
};
Result<NewFile> BeginFile(const std::string& path, const ObjectMarks& marks);
Result<void> AppendFile(const NewFile& file, std::string_view bytes);
// It is on the disk and has its name. kConflict: if_absent, and there is one; if_tag, and there is
// another or none.
Result<void> EndFile(const NewFile& file, const PutOptions& options);
void DropFile(const NewFile& file);

Result<void> DeleteFile(const std::string& path);

}  // namespace tidemill
