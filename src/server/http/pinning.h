// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/image.h"
#include "model/job.h"
#include "server/http/api.h"

namespace tidemill {

// What is to be done to know which image a new job means.
struct ImageQuestion {
  std::string digest = {};  // the spec says it itself; empty: its registry is to be asked
  std::optional<ImageName> name = {};  // none: nobody is asked anything
  std::string login = {};              // the secret to ask with; empty: none
};
ImageQuestion QuestionOf(const std::string& document);

// What is told to the one who submits a job whose image is not pinned. Empty where nobody lets this
// server ask: it would be said each time, and the first machine that pulls pins it anyway.
std::string NoteOf(const Error& error);

struct Pinning {
  std::string digest = {};  // empty: not known
  std::string note = {};    // why not
  ImageConfig config = {};  // of a job with devices, if its registry tells
};
// Finds out which image a new job of `project` means, and what it asks of devices; in vain if its
// registry does not say. Calls `done` once, maybe from inside, unless the peer goes away before.
// Not in the people's turn, which a slow registry must not hold up.
void FindPinning(ApiState& state, const std::shared_ptr<HttpPeer>& peer, const std::string& project,
                 const JobSpec& spec, std::function<void(Pinning)> done);

}  // namespace tidemill
