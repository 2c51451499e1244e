// SPDX-License-Identifier: Apache-2.0
#include "server/http/gate.h"

namespace tidemill {

// A call that is answered on the spot comes back here: the loop below goes on with the others, so
// that a long queue is no deep stack.
void Gate::Next() {
  if (in_next_) return;
  in_next_ = true;
  while (under_way_ < limits_.under_way && !queue_.empty()) {
    const std::function<void()> call = std::move(queue_.front());
    queue_.pop_front();
    call();
  }
  in_next_ = false;
}

}  // namespace tidemill
