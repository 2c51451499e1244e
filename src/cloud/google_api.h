// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cloud/web.h"
#include "cloud/world.h"

namespace tidemill {

// An API of Google: where it is, and the variable by which gcloud is told that it is elsewhere.
struct GoogleApi {
  const char* endpoint;
  const char* variable;
};
inline constexpr GoogleApi kGoogleCompute{"https://compute.googleapis.com/compute/v1",
                                          "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"};
inline constexpr GoogleApi kGoogleIamCredentials{"https://iamcredentials.googleapis.com",
                                                 "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS"};
inline constexpr GoogleApi kGooglePubSub{"https://pubsub.googleapis.com",
                                         "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB"};

// Its target has no slash at its end. kInvalid: the variable is wrong.
Result<WebUrl> GoogleApiRoot(const CloudWorld& world, const GoogleApi& api);

}  // namespace tidemill
