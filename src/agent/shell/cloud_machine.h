// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/deps.h"
#include "base/log.h"
#include "base/loop.h"
#include "cloud/machine_end.h"
#include "cloud/machine_self.h"
#include "cloud/metadata.h"
#include "cloud/notice_watch.h"
#include "cloud/world.h"
#include "net/asio_loop.h"

namespace tidemill {

// The cloud of a machine, as its agent uses it: which machine it is, what proves that, and when it
// is taken away. Loop thread only. Nothing survives a restart.
class CloudMachine {
 public:
  struct Deps {
    AsioLoop& loop;
    Random& random;
    Log& log;
    CloudWorld world;
  };
  // Another look is begun this long after one that failed.
  static constexpr Duration kFindAgain = std::chrono::seconds(5);

  // `cloud` is "aws" or "gcp". kInvalid: where its metadata is looked for must not be so.
  static Result<std::unique_ptr<CloudMachine>> Open(Deps deps, const std::string& cloud);

  // Runs the loop until it is known which machine this is; again and again, because a machine may
  // be up before its network is. The last error, after `patience`; zero: that has no end.
  Result<MachineSelf> Find(Duration patience);

  // A fresh proof at each call, for the server at this URL.
  std::function<void(std::function<void(Result<MachineProof>)>)> ProofFor(std::string server);

  // See NoticeWatch. Once.
  void Watch(NoticeWatch::OnNotice told, std::function<void()> looked);

  // Ends it by its group; Find must have found it.
  std::unique_ptr<MachineEnd> GroupEnd() const;

 private:
  CloudMachine(Deps deps, std::string cloud, std::unique_ptr<Metadata> metadata);
  void TryToFind(TimePoint until);

  const Deps deps_;
  const std::string cloud_;
  const std::unique_ptr<Metadata> metadata_;
  Result<MachineSelf> self_;
  std::unique_ptr<NoticeWatch> watch_;
};

// Tries `first`, which may be null, and then, if that does not do it or the machine still is there
// `wait` later, `second`.
std::unique_ptr<MachineEnd> EndInTurn(Loop& loop, Log& log, std::unique_ptr<MachineEnd> first,
                                      std::unique_ptr<MachineEnd> second,
                                      Duration wait = std::chrono::minutes(3));

}  // namespace tidemill
