// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "provider/local/local_options.h"
#include "provider/local/machine_folder.h"
#include "provider/provider.h"
#include "wire/local_json.h"

namespace tidemill {

// The folder of a pool, locked for as long as this object lives: of all who look into it, threads
// and processes, one at a time. So each machine is made once and ends once, whoever says so. Any
// thread; all of it may block for a moment.
class PoolFolder {
 public:
  // Nothing is there, and no folder either, if it was never to be made. kInvalid: a name that fits
  // in no path. kConflict: somebody else holds the lock. kUnavailable: the disk does not work.
  static Result<std::optional<PoolFolder>> Open(const LocalOptions& options,
                                                const PoolSettings& pool, bool make);

  Result<Refused> Make(const PoolSettings& pool, const std::vector<MachineOrder>& machines);
  Result<void> End(const std::vector<std::string>& names);
  // Also ends what was asked to end and does not, and notes what has ended by itself.
  Result<std::vector<ListedAt>> List();
  // Gives up the lock, and then removes what nobody will ask for any more.
  void Close();

 private:
  PoolFolder(const LocalOptions& options, const PoolSettings& pool, std::filesystem::path path,
             Fd lock);
  MachineFolder Of(const std::string& name) const { return MachineFolder(path_ / name); }
  std::vector<std::string> Names() const;
  // Looks how a machine is, and brings its record up to date.
  Result<std::optional<ListedAt>> Look(const std::string& name);
  Result<void> Bill(const std::string& name, const MachineFolder::Record& record) const;
  Result<void> Start(const PoolSettings& pool, const LocalPool& local, const MachineOrder& order);
  std::vector<std::string> CommandOf(const PoolSettings& pool, const LocalPool& local,
                                     const std::string& name) const;

  const LocalOptions* options_;
  std::string project_;
  std::string pool_;
  std::filesystem::path path_;
  Fd lock_;
};

}  // namespace tidemill
