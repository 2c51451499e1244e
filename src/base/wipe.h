// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>

#include <string>

namespace tidemill {

// Leaves nothing of a secret in the memory that the text gives back. Copies that were made of it on
// its way are not found.
inline void Wipe(std::string& text) {
  explicit_bzero(text.data(), text.size());
  text.clear();
}

}  // namespace tidemill
