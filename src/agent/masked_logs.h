// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/deps.h"
#include "agent/job_secrets.h"
#include "agent/work.h"
#include "mask/masker.h"

namespace tidemill {

// The way from what items write to their logs, on which the secrets of their job are hidden. Of an
// attempt that has secrets it keeps what may be the beginning of one, from Begin to End, also when
// its lease and its job are gone meanwhile. Loop thread only.
class MaskedLogs {
 public:
  explicit MaskedLogs(ItemLogs& logs) : logs_(logs) {}

  // The attempt is about to run. Null: it has no secrets.
  void Begin(const Attempt& attempt, std::shared_ptr<const JobSecrets> secrets);
  // The attempts of this job that run may print these from now on; of those before them, what is
  // still good is among these.
  void Renew(JobId job, const std::shared_ptr<const JobSecrets>& secrets);
  void Append(const Attempt& attempt, std::string_view bytes);
  // It runs no more: writes what was held back. The same attempt may begin anew.
  void End(const Attempt& attempt);
  // And never will again. See ItemLogs.
  std::string Close(const Attempt& attempt);
  // None of them runs any more.
  void Clear() { texts_.clear(); }

 private:
  struct Text {
    JobId job;
    std::shared_ptr<const JobSecrets> secrets;
    std::optional<MaskedText> masked;  // once it has written something
  };

  ItemLogs& logs_;
  std::map<ItemKey, Text> texts_;  // no more than run at a time
};

}  // namespace tidemill
