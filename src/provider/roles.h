// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/cloud_role.h"

namespace tidemill {

// Who wants to be what to a cloud.
struct RoleAsk {
  std::string project;
  std::string job;  // as people write it: the cloud's own records name it
  std::string role;
  auto operator<=>(const RoleAsk&) const = default;
};

// Whoever has clouds hand out keys for roles of theirs. That the project may have the role is
// another question, which has been asked before.
class RoleKeeper {
 public:
  virtual ~RoleKeeper() = default;

  // Answers later, on the loop thread, once. Loop thread only.
  //   kInvalid      the cloud does not let us, or there is no such role; the reason is for people
  //   kUnavailable  it did not answer
  virtual void Keys(const RoleAsk& ask, std::function<void(Result<RoleKeys>)> done) = 0;
};

}  // namespace tidemill
