// SPDX-License-Identifier: Apache-2.0
#include "server/secrets.h"

#include <utility>

namespace tidemill {

std::string SecretContext(const std::string& project, const std::string& name) {
  return "secret " + project + "/" + name;
}

tl::unexpected<Error> NoSecretKeys() {
  return Fail(Code::kConflict,
              "this server has no keys for secrets; start it with --secret-keys FILE");
}

Result<Secrets> OpenSecrets(AccessStore& access, const KeyRing& keys, const std::string& project,
                            const std::vector<std::string>& names) {
  TIDEMILL_TRY(Secrets secrets, access.FindSecrets(project, names));
  for (const std::string& name : names) {
    const auto found = secrets.find(name);
    if (found == secrets.end()) {
      return Fail(Code::kNotFound,
                  "secret '" + name +
                      "' does not exist in this project; set it: " + "tidemill secret set " + name);
    }
    auto value = Unseal(keys, found->second, SecretContext(project, name));
    if (!value) return Fail(Code::kInternal, "secret " + name + ": " + value.error().reason);
    found->second = *std::move(value);
  }
  return secrets;
}

}  // namespace tidemill
