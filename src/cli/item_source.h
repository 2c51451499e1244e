// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "base/zstd_stream.h"

namespace tidemill::cli {

// Cuts a list of items, read piece by piece, into parts that end where lines end. Holds one part
// and never the list. One thread.
class ItemSource {
 public:
  // `name` is how errors call the list: a file's name.
  ItemSource(ByteRead read, std::string name, std::size_t part_bytes = limits::kPartBytes);

  // The next part: whole lines, each ended by \n (a missing last one is added). Empty at the end.
  // kInvalid, with file and line, for a line that cannot be an item: empty lines may stand at the
  // end only. Or what the read says, with the list's name if it is kInternal.
  Result<std::string> Next();

  std::int64_t items() const { return items_; }  // in all parts given so far
  std::int64_t bytes() const { return bytes_; }
  // The line of the list at which the part given last began.
  std::int64_t part_line() const { return part_line_; }
  const std::string& name() const { return name_; }

 private:
  Result<void> Fill();
  // Counts and checks the whole lines of a part; empty lines are taken out, as they can only be
  // the last ones.
  Result<void> Check(std::string& part);

  // Constant after construction.
  const ByteRead read_;
  const std::string name_;
  const std::size_t part_bytes_;

  std::string held_;  // at most part_bytes_ + one byte more
  bool ended_ = false;
  std::int64_t line_ = 0;        // lines given so far, with empty ones
  std::int64_t empty_line_ = 0;  // the first empty one, if nothing has come after it
  std::int64_t part_line_ = 1;
  std::int64_t items_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace tidemill::cli
