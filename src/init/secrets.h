// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "frame/frame.h"
#include "init/scratch.h"

namespace tidemill::init {

// The folder in which items find their secret files. No process of an item may live while it is
// emptied.
class Secrets {
 public:
  // `path` must outlive it; null: there is no such folder, and no run may have secret files.
  explicit Secrets(const char* path) : path_(path), folder_(path) {}

  // Looks at the folder. 0, or errno.
  int Open();
  // Writes the files of the run into a fresh folder, which nobody but the item's user may open, and
  // adds TIDEMILL_SECRETS to the run's variables. 0, or errno; some files may then be there. The
  // variable is good until the next Write.
  int Write(frame::Run& run);
  // What was added; empty: nothing. It is good for as long.
  const std::string& variable() const { return variable_; }
  // Removes all that is there, also what an item has put there itself. 0, or errno.
  int Empty() const;

 private:
  const char* const path_;
  Scratch folder_;
  std::string variable_;
};

}  // namespace tidemill::init
