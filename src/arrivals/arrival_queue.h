// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "arrivals/s3_event.h"
#include "base/result.h"

namespace tidemill {

// One message of a queue.
struct ArrivalMessage {
  std::string handle = {};                  // by which it is taken away
  std::vector<ArrivedObject> objects = {};  // none: it is about something else
  std::string unread = {};                  // not empty: why it cannot be read
  bool operator==(const ArrivalMessage&) const = default;
};

// Where a cloud puts messages about objects that arrive. A message comes again, after some time,
// until it is taken away, and may come twice even so. Loop thread only. The messages survive us.
//
// Each `done` comes once, never from inside the call, and not after the queue is destroyed. Nothing
// is tried again here. Codes:
//   kNotFound     no such queue
//   kForbidden, kNobody   these credentials may not, or there are none
//   kInvalid      anything else that is refused
//   kUnavailable, kUnknown   no answer, or it is too much now
class ArrivalQueue {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  virtual ~ArrivalQueue() = default;
  // Waits at the queue until there are some, for a while; then none.
  virtual void Receive(Done<std::vector<ArrivalMessage>> done) = 0;
  // Takes messages away, at least one. An error: some of them may come again.
  virtual void Delete(std::vector<std::string> handles, Done<void> done) = 0;
  // What Receive gives when there are more.
  virtual std::size_t full() const = 0;
};

}  // namespace tidemill
