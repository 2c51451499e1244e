// SPDX-License-Identifier: Apache-2.0
#include "agent/job_secrets.h"

#include <utility>

#include "base/wipe.h"

namespace tidemill {
namespace {

Result<const std::string*> Find(const std::string& name, const Secrets& values) {
  const auto value = values.find(name);
  if (value != values.end()) return &value->second;
  return Fail(
      Code::kInvalid,
      "secret '" + name + "' does not exist in this project; set it: tidemill secret set " + name);
}

Result<void> AddUse(const SecretUse& use, const std::string& value, JobSecrets::Parts& parts) {
  if (use.env.empty()) {
    parts.files.push_back({use.file, value});
    return {};
  }
  if (value.find('\0') != std::string::npos) {
    return Fail(Code::kInvalid, "secret '" + use.secret +
                                    "' has a NUL, so it cannot be the variable '" + use.env +
                                    "'; let the job have it as a file");
  }
  parts.env.push_back(use.env + "=" + value);
  return {};
}

Result<void> Collect(const RunSpec& run, const Secrets& values, JobSecrets::Parts& parts) {
  for (const SecretUse& use : run.secrets) {
    TIDEMILL_TRY(const std::string* value, Find(use.secret, values));
    parts.hidden.push_back(*value);
    TIDEMILL_TRY_VOID(AddUse(use, *value, parts));
  }
  if (run.image_login.empty()) return {};
  TIDEMILL_TRY(const std::string* value, Find(run.image_login, values));
  parts.hidden.push_back(*value);
  auto login = ParseRegistryLogin(*value);
  if (!login) {
    return Fail(login.error().code,
                "secret '" + run.image_login + "' of image_login: " + login.error().reason);
  }
  parts.hidden.push_back(login->password);
  // As a registry is told it.
  parts.hidden.push_back(login->user + ":" + login->password);
  parts.login = *std::move(login);
  return {};
}

Masker MaskerOf(const JobSecrets::Parts& parts) {
  std::vector<std::string> all = parts.hidden;
  all.insert(all.end(), parts.old_keys.begin(), parts.old_keys.end());
  if (parts.role) all.insert(all.end(), parts.role->secrets.begin(), parts.role->secrets.end());
  Masker masker = Masker::OfSecrets(all);
  for (std::string& value : all) Wipe(value);
  return masker;
}

}  // namespace

Result<std::shared_ptr<const JobSecrets>> JobSecrets::Of(const RunSpec& run, Secrets values) {
  Parts parts;
  const Result<void> collected = Collect(run, values, parts);
  // Made also if one was wrong: its end wipes what was collected until then.
  const auto secrets = std::make_shared<const JobSecrets>(std::move(parts));
  for (auto& [name, value] : values) Wipe(value);
  if (!collected) return tl::unexpected(collected.error());
  return secrets;
}

std::shared_ptr<const JobSecrets> JobSecrets::WithRole(const JobSecrets* before, RoleKeys keys) {
  Parts parts = before == nullptr ? Parts() : before->parts_;
  parts.old_keys.clear();
  if (parts.role) parts.old_keys = std::move(parts.role->secrets);
  parts.role = std::move(keys);
  return std::make_shared<const JobSecrets>(std::move(parts));
}

JobSecrets::JobSecrets(Parts parts) : parts_(std::move(parts)), masker_(MaskerOf(parts_)) {}

JobSecrets::~JobSecrets() {
  for (std::string& variable : parts_.env) Wipe(variable);
  for (SecretFile& file : parts_.files) Wipe(file.content);
  if (parts_.login) Wipe(parts_.login->password);
  for (std::string& value : parts_.hidden) Wipe(value);
  for (std::string& value : parts_.old_keys) Wipe(value);
  if (!parts_.role) return;
  Wipe(parts_.role->document);
  for (std::string& value : parts_.role->secrets) Wipe(value);
}

void JobSecrets::AddTo(ItemRun& run) const {
  run.env.insert(run.env.end(), parts_.env.begin(), parts_.env.end());
  run.secret_files = parts_.files;
}

}  // namespace tidemill
