// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "engine/engine.h"

namespace tidemill {

// What a stream into a container tells whoever opened it. Never from inside a call of Slots.
class SlotStream {
 public:
  virtual ~SlotStream() = default;
  virtual void OnBytes(bool is_error, std::string_view bytes) = 0;
  // While it is full no bytes are to be sent to it.
  virtual void OnFull(bool full) = 0;
  // Once, and the last, also when its container is gone.
  virtual void OnEnd(const StreamEnd& end) = 0;
};

}  // namespace tidemill
