// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/link.h"
#include "base/result.h"
#include "engine/engine.h"
#include "mask/masker.h"
#include "model/spec.h"

namespace tidemill {

// The secrets of a job as its items get them, the login with which its image is pulled, and what
// hides them all in the logs. Constant; held by the job and by each of its attempts that run, and
// wiped when the last of them lets go. Copies that a run took with it to its container are not: the
// agent's memory is never written to a disk.
class JobSecrets {
 public:
  struct Parts {
    std::vector<std::string> env = {};  // NAME=value
    std::vector<SecretFile> files = {};
    std::optional<RegistryLogin> login = {};
  };

  // kInvalid, with a reason for people that holds no value: one is missing, or cannot be a
  // variable, or a login.
  static Result<std::shared_ptr<const JobSecrets>> Of(const RunSpec& run, Secrets values);
  JobSecrets(Parts parts, Masker masker) : parts_(std::move(parts)), masker_(std::move(masker)) {}
  ~JobSecrets();
  JobSecrets(const JobSecrets&) = delete;
  JobSecrets& operator=(const JobSecrets&) = delete;

  void AddTo(ItemRun& run) const;
  // For the pull alone: no item gets it.
  const std::optional<RegistryLogin>& login() const { return parts_.login; }
  const Masker& masker() const { return masker_; }

 private:
  Parts parts_;
  const Masker masker_;
};

}  // namespace tidemill
