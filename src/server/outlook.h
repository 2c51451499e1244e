// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/decided.h"
#include "server/deps.h"

namespace tidemill {

// Answers for people: any server reads and decides for itself, and changes nothing. Loop thread
// only.
class Outlook {
 public:
  explicit Outlook(ServerDeps deps) : deps_(deps) {}

  // As the store is now, or was a second ago. kNotFound: nothing is going on in the project.
  // kUnavailable: nobody plans here.
  void Ask(const std::string& project, Reply<std::shared_ptr<const Decided>> reply);

 private:
  using Look = std::map<std::string, std::shared_ptr<const Decided>>;  // by project
  void Taken(Result<Look> look);

  const ServerDeps deps_;
  // The last look, of all projects; those who ask while it is being taken share it.
  std::optional<TimePoint> taken_;
  Look last_;
  std::vector<std::function<void(const Result<void>&)>> waiting_;
};

}  // namespace tidemill
