// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace tidemill {

// The path of a Unix socket in a form that fits into the 108 bytes of the kernel's address: as it
// is, or, if it is longer, by way of its open folder. Keep it until bind or connect is done.
class UnixAddress {
 public:
  // kInvalid: its last part is too long by itself, or its folder cannot be opened.
  static Result<UnixAddress> Of(const std::string& path);

  const std::string& text() const { return text_; }

 private:
  Fd folder_;
  std::string text_;
};

}  // namespace tidemill
