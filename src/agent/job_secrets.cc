// SPDX-License-Identifier: Apache-2.0
#include "agent/job_secrets.h"

#include <utility>

#include "base/wipe.h"

namespace tidemill {
namespace {

Result<void> Check(const SecretUse& use, const Secrets& values) {
  const auto value = values.find(use.secret);
  if (value == values.end()) {
    return Fail(Code::kInvalid, "secret '" + use.secret +
                                    "' does not exist in this project; set it: tidemill secret "
                                    "set " +
                                    use.secret);
  }
  if (!use.env.empty() && value->second.find('\0') != std::string::npos) {
    return Fail(Code::kInvalid, "secret '" + use.secret +
                                    "' has a NUL, so it cannot be the variable '" + use.env +
                                    "'; let the job have it as a file");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const JobSecrets>> JobSecrets::Of(const std::vector<SecretUse>& uses,
                                                         Secrets values) {
  Parts parts;
  std::vector<std::string> hidden;
  Result<void> checked;
  for (const SecretUse& use : uses) {
    checked = Check(use, values);
    if (!checked) break;
    const std::string& value = values.at(use.secret);
    hidden.push_back(value);
    if (!use.env.empty()) {
      parts.env.push_back(use.env + "=" + value);
    } else {
      parts.files.push_back({use.file, value});
    }
  }
  // Made also if one was wrong: its end wipes what was collected until then.
  const auto secrets =
      std::make_shared<const JobSecrets>(std::move(parts), Masker::OfSecrets(hidden));
  for (std::string& value : hidden) Wipe(value);
  for (auto& [name, value] : values) Wipe(value);
  if (!checked) return tl::unexpected(checked.error());
  return secrets;
}

JobSecrets::~JobSecrets() {
  for (std::string& variable : parts_.env) Wipe(variable);
  for (SecretFile& file : parts_.files) Wipe(file.content);
}

void JobSecrets::AddTo(ItemRun& run) const {
  run.env.insert(run.env.end(), parts_.env.begin(), parts_.env.end());
  run.secret_files = parts_.files;
}

}  // namespace tidemill
