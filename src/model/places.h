// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "model/job.h"

// Where things are below the URL of the deployment's own object store:
//
//   jobs/PROJECT/JOB/logs/...      what its items printed; JOB is its UniqueId
//   jobs/PROJECT/JOB/ledger/...    its record, which outlives the database
//   jobs/PROJECT/JOB/checkpoints/ITEM/...   how far its items were; see data/mover/checkpoints.h
//   blobs/PROJECT/SHA256           what people have uploaded: code, files
namespace tidemill {

// With a slash at the end.
std::string JobPlace(std::string_view objects, const Job& job);
std::string BlobPlace(std::string_view objects, std::string_view project, std::string_view sha256);

}  // namespace tidemill
