// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cli/context.h"

namespace tidemill::cli {

struct ResultsFlags {
  std::string job;
  std::string out;  // a file, or "-"
};
// tidemill results
int WriteResults(const Context& context, const ResultsFlags& flags);

// Says on a terminal how many rows there are so far, and no more often than the eye needs it.
class RowProgress {
 public:
  explicit RowProgress(const Console& console) : console_(console) {}
  void Show(std::int64_t rows, std::int64_t now_ms);
  // Takes it away again.
  void Clear();

 private:
  const Console& console_;
  std::int64_t shown_ms_ = 0;
  bool shown_ = false;
};

}  // namespace tidemill::cli
