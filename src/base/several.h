// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"

namespace tidemill {

// Does `count` things, some at once, and says when all are done, or the first error once nothing is
// under way any more. What is not begun by then is not. `one` calls its `done` once, perhaps from
// inside.
class Several : public std::enable_shared_from_this<Several> {
 public:
  using Done = std::function<void(Result<void>)>;
  using One = std::function<void(std::size_t, Done)>;

  static void Run(std::size_t count, std::size_t at_once, One one, Done done) {
    auto self = std::make_shared<Several>(count, at_once, std::move(one), std::move(done));
    self->Go();
  }
  Several(std::size_t count, std::size_t at_once, One one, Done done)
      : count_(count), at_once_(at_once), one_(std::move(one)), done_(std::move(done)) {}

 private:
  // Not from inside itself: a thing that is done at once must not become a deep stack.
  void Go() {
    if (std::exchange(going_, true)) return;
    while (result_ && next_ < count_ && under_way_ < at_once_) {
      ++under_way_;
      one_(next_++, [self = shared_from_this()](Result<void> result) {
        --self->under_way_;
        if (!result && self->result_) self->result_ = std::move(result);
        self->Go();
      });
    }
    going_ = false;
    if (under_way_ > 0 || (result_ && next_ < count_)) return;
    one_ = nullptr;
    if (done_) std::exchange(done_, nullptr)(std::move(result_));
  }

  const std::size_t count_;
  const std::size_t at_once_;
  One one_;
  Done done_;
  Result<void> result_ = {};
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  bool going_ = false;
};

}  // namespace tidemill
