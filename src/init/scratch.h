// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace tidemill::init {

// The folder that items write what they do not keep to. No process may write there while it is
// emptied.
class Scratch {
 public:
  // `path` must outlive it.
  explicit Scratch(const char* path) : path_(path) {}

  const char* path() const { return path_; }

  // Looks at the folder, and remembers its mode. 0, or errno.
  int Open();
  // Removes all that is in the folder, and gives it its mode back. Follows no link, leaves no mount
  // and needs no more memory for a deep tree. 0, or errno; something may then still be there.
  int Empty() const;

 private:
  const char* const path_;
  mode_t mode_ = 0;
};

}  // namespace tidemill::init
