// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/context.h"
#include "wire/settings_json.h"

namespace tidemill::cli {

struct ApplyFlags {
  std::string file;      // or "-"
  bool dry_run = false;  // only shows what would change
  bool yes = false;      // does not ask
  bool prune = false;    // removes what the file does not name
};

// The text of `file` as pools and queues. kInvalid, as "tidemill.yaml:7: unknown field 'shap' in
// pools.spot; did you mean 'shape'?"
Result<SettingsFile> LoadSettings(std::string_view yaml, const std::string& file);

// tidemill apply
int Apply(const Context& context, const ApplyFlags& flags);

}  // namespace tidemill::cli
