// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

// What items read from object stores and write to them.
namespace tidemill {

// In a spec, with templates in its URL; for an item, without.
struct DataInput {
  std::string name;  // empty: it is the only one
  // An object; or, with a slash at its end, all that is below it.
  std::string url;
  bool operator==(const DataInput&) const = default;
};

struct DataOutput {
  enum class Kind : std::uint8_t {
    kFile,    // one file becomes the object
    kFolder,  // all files of a folder go below the URL
    kGlob,    // those of them that match
  };
  std::string name;  // as above
  Kind kind = Kind::kFile;
  std::string url;   // of a folder, with a slash at its end
  std::string glob;  // "*.png"
  bool operator==(const DataOutput&) const = default;
};

// What every item of a job needs: fetched once a machine, and read by all.
struct CacheUse {
  std::string name;  // under which the items find it; another for each
  // An object; or, with a slash at its end, all that is below it. No templates.
  std::string url;
  bool operator==(const CacheUse&) const = default;
};

// What is done when somebody else's object is where an output is to be.
enum class OutputExists : std::uint8_t { kFail, kReplace, kSkip };

// Where the checkpoints of an item are, and who writes there now.
struct CheckpointWork {
  std::string url;  // of the item's, with a slash at its end
  std::int32_t round = 0;
  std::int32_t attempt = 1;  // in its round
  std::string writer;        // nobody else has the same
};

// The data of one attempt.
struct DataWork {
  std::vector<DataInput> inputs;
  std::vector<DataOutput> outputs;
  OutputExists exists = OutputExists::kFail;
  std::optional<CheckpointWork> checkpoint = {};
  bool empty() const { return inputs.empty() && outputs.empty() && !checkpoint; }
};

// Where the data of one attempt is on a machine.
struct DataPlace {
  JobId job;
  std::uint64_t number = 0;  // never used twice on a machine; 0: it has none
  auto operator<=>(const DataPlace&) const = default;
};

// Whose an output is. What is marked with the same job and item is our own.
struct OutputOwner {
  std::string job;  // "films/render-7"
  std::int64_t item = 0;
  std::int32_t round = 0;
  std::string attempt;  // another for each attempt: the name of its folder
};

// The folders that all containers of a job see, as its items see them.
struct DataFolders {
  std::string in;
  std::string out;
  std::string checkpoints = {};
};
inline constexpr std::string_view kInInside = "/.tidemill/in";
inline constexpr std::string_view kOutInside = "/.tidemill/out";
inline constexpr std::string_view kCheckpointsInside = "/.tidemill/checkpoint";
inline constexpr std::string_view kCacheInside = "/.tidemill/cache";

// Where an item finds an input, and leaves an output. A file keeps the last part of its URL as its
// name, so that programs which look at the end of a name see what they expect.
std::string PathOf(const DataFolders& folders, const DataPlace& place, const DataInput& input);
std::string PathOf(const DataFolders& folders, const DataPlace& place, const DataOutput& output);

}  // namespace tidemill
