// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cloud/aws_credentials.h"
#include "cloud/web.h"
#include "cloud/world.h"

namespace tidemill {

// Nothing: AWS_EC2_METADATA_DISABLED says so. kInvalid: the endpoint that is set is no URL, or one
// to which keys must not be entrusted.
Result<std::optional<Origin>> MetadataOrigin(const CloudWorld& world);

// The keys of the role of the EC2 instance that this is, from its metadata, version 2: a token is
// asked for first, which no program can be tricked into that only fetches URLs. `looked` is called
// once, never from inside; whoever destroys the web drops it.
void LookInMetadata(Web& web, const Origin& origin, AwsLooked looked);

}  // namespace tidemill
