// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "cli/context.h"
#include "cli/open_items.h"

namespace tidemill::cli {

struct BucketJobFlags {
  std::string spec;  // a file, or a spec that the server keeps; or else:
  std::string into;  // a job that is open
  std::string name;  // empty: as the spec has it
};

// The open job to which the objects of the bucket at `url` are added: the one that is named, or one
// of the spec. The same spec, name and bucket are the same job whenever and wherever this is asked.
// What is wrong has been told; the error is the exit code.
tl::expected<std::string, int> FindBucketJob(const Context& context, const MakeStores& stores,
                                             const BucketJobFlags& flags, const std::string& url);

// "watch-" and a digest of both.
std::string BucketJobKey(const std::string& name, const std::string& url);

}  // namespace tidemill::cli
