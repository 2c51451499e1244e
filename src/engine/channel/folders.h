// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/random.h"
#include "base/result.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"

namespace tidemill {

// The folders of an engine's containers on this machine:
//
//   ROOT/containers/NAME/run/      only the agent writes; a container sees its socket here
//   ROOT/containers/NAME/scratch/  the container's own
//   /dev/shm/tidemill-NAME/        its secret files, if MakeSecrets was asked for it
//
// A folder is locked for as long as the process that made it lives, so what is not locked is what
// an earlier life has left. Removing them may take long and is done on another thread. Loop thread
// only.
class ContainerFolders {
 public:
  ContainerFolders(AsioLoop& loop, std::string root);
  // Waits for what is being removed.
  ~ContainerFolders();

  // A name that was never used. kUnavailable: the disk is full, or we may not write there.
  Result<std::string> Make();
  std::string PathOf(const std::string& name) const;
  // One that an earlier life has made, for us. False: it is not there, or somebody holds it.
  bool Hold(const std::string& name);
  // Where a container without a file system of its own has its secret files: in memory if this
  // machine has a place for that, and else in its folder. Removed with it.
  Result<std::string> MakeSecrets(const std::string& name) const;
  // Nothing may run in the container any more. Symbolic links are not followed. What cannot be
  // removed is left to RemoveStale. `done` does not come after this object is gone.
  void Remove(const std::string& name, std::function<void()> done);
  // What is in its scratch folder, in bytes of the disk.
  void MeasureScratch(const std::string& name, std::function<void(std::int64_t)> done);
  // Removes all folders that nobody holds.
  void RemoveStale(std::function<void()> done);

 private:
  void RunWork(std::function<void()> work, std::function<void()> done);

  // Constant after construction.
  const std::string root_;
  // Loop thread only.
  SystemRandom random_;
  std::map<std::string, Fd> locks_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  ThreadPool pool_;
  // Apart, so that what is removed for minutes holds up no look.
  ThreadPool measuring_;
};

}  // namespace tidemill
