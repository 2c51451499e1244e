// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "net/http.h"
#include "server/jobs.h"

namespace tidemill {

// As it stands in a path. kInvalid: not a number that a chunk can have.
Result<std::int32_t> ReadChunkNumber(std::string_view text);

// As they are stored: what an agent unpacks, the server need not.
// An agent may keep them for ever; a browser may not, since somebody else may sign in there.
enum class Keep : std::uint8_t { kForEver, kNot };
HttpResponse ChunkAnswer(ChunkItems&& items, Keep keep);

}  // namespace tidemill
