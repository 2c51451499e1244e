// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "provider/aws/group_calls.h"
#include "provider/aws/group_requests.h"

namespace tidemill {

// Makes the group and its templates, or changes them to what is said; what is so already stays. A
// group that is adopted must be there. kInvalid: what is wrong, for whoever wrote the pool.
void PrepareGroup(GroupCalls& calls, AwsSettings settings, GroupCalls::Done<void> done);

// Deletes the group and the templates that were made for a pool; an adopted one stays. kConflict:
// there are machines.
void RemoveGroup(GroupCalls& calls, const AwsGroup& group, GroupCalls::Done<void> done);

}  // namespace tidemill
