// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/data.h"

namespace tidemill {

// What a stranger's program has left in a folder, looked at by root. The folder has been moved to
// where no container sees it, so nothing changes it any more; but what is in it may be anything.
// Nothing is opened through a symbolic link, outside of the folder or on another file system, and
// only plain files are read. Blocks. Any thread.

struct OutputFile {
  std::string path;  // below the folder
  std::string name;  // of the object, below the output's URL; empty: the URL is its name
  std::int64_t size_bytes = 0;
};

inline constexpr std::size_t kOutputFilesMost = 100'000;
inline constexpr int kOutputDepthMost = 32;

// The files of an output. kInvalid: it is not there, nothing matches, or something is there that is
// neither a plain file nor a folder; the reason is for people.
Result<std::vector<OutputFile>> FindOutput(const std::string& folder, const DataOutput& output);

// All files of a folder, of which there may be none. It may be changing: then what is said here may
// be over already. kConflict: something vanished.
Result<std::vector<OutputFile>> FindFiles(const std::string& folder);

// To be read, and only that. kInvalid: it is no plain file, or has another size by now.
Result<Fd> OpenOutput(const std::string& folder, const OutputFile& file);

// "*" stands for any letters of a name, "?" for one.
bool MatchesGlob(std::string_view glob, std::string_view name);

}  // namespace tidemill
