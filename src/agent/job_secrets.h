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
#include "model/cloud_role.h"
#include "model/spec.h"

namespace tidemill {

// The secrets of a job as its items get them, the login with which its image is pulled, the keys of
// its role, and what hides them all in the logs. Constant; held by the job and by each of its
// attempts that run, and wiped when the last of them lets go. Copies that a run took with it to its
// container are not: the agent's memory is never written to a disk.
class JobSecrets {
 public:
  struct Parts {
    std::vector<std::string> env = {};  // NAME=value
    std::vector<SecretFile> files = {};
    std::optional<RegistryLogin> login = {};
    std::vector<std::string> hidden = {};  // all that no log may show
    std::optional<RoleKeys> role = {};
    std::vector<std::string> old_keys = {};  // that were hidden for the keys before these
  };

  // kInvalid, with a reason for people that holds no value: one is missing, or cannot be a
  // variable, or a login.
  static Result<std::shared_ptr<const JobSecrets>> Of(const RunSpec& run, Secrets values);
  // The same with the keys of its role, in place of those that `before` has: these stay hidden, as
  // an item may still have them. Null: it has nothing else.
  static std::shared_ptr<const JobSecrets> WithRole(const JobSecrets* before, RoleKeys keys);
  explicit JobSecrets(Parts parts);
  ~JobSecrets();
  JobSecrets(const JobSecrets&) = delete;
  JobSecrets& operator=(const JobSecrets&) = delete;

  void AddTo(ItemRun& run) const;
  // For the pull alone: no item gets it.
  const std::optional<RegistryLogin>& login() const { return parts_.login; }
  // Nothing: it has no role.
  const std::optional<RoleKeys>& role() const { return parts_.role; }
  const Masker& masker() const { return masker_; }

 private:
  Parts parts_;
  const Masker masker_;
};

}  // namespace tidemill
