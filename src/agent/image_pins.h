// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/deps.h"

namespace tidemill {

// Sees to it that all items of a job run in the same image, on whichever machine and however often
// its tag is moved: the first machine that has it tells the servers what its name stands for, and
// what they say counts. An image that came from no registry is run by its name. Loop thread only.
class ImagePins {
 public:
  // `pass` is the agent's own, as it is at each moment.
  ImagePins(const AgentDeps& deps, const SessionPass& pass) : deps_(deps), pass_(pass) {}

  // Calls `done`, perhaps at once, with the spec as its container is to be opened. Else as
  // Engine::Open says, or kUnavailable: the servers cannot be asked.
  using Done = std::function<void(Result<ContainerSpec>)>;
  void Pin(ContainerSpec spec, Done done);
  // The image of a job whose spec names this one, as far as it is known.
  std::string ImageOf(JobId job, const std::string& image) const;
  void ForgetIf(const std::function<bool(JobId)>& is_over);

 private:
  void Ask(const ContainerSpec& spec, const std::string& digest, Done done);

  const AgentDeps& deps_;
  const SessionPass& pass_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::map<JobId, std::string> digests_;  // that the servers have said count
};

}  // namespace tidemill
