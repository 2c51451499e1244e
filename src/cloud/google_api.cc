// SPDX-License-Identifier: Apache-2.0
#include "cloud/google_api.h"

#include <string>

namespace tidemill {

Result<WebUrl> GoogleApiRoot(const CloudWorld& world, const GoogleApi& api) {
  const std::string set = world.Variable(api.variable);
  auto url = ParseWebUrl(set.empty() ? api.endpoint : set);
  if (!url) return While(api.variable, url.error());
  if (!url->origin.tls && !IsNear(url->origin.host)) {
    return Fail(Code::kInvalid, std::string(api.variable) + " must be https://");
  }
  while (url->target.ends_with('/')) url->target.pop_back();
  return url;
}

}  // namespace tidemill
