// SPDX-License-Identifier: Apache-2.0
#include "server/http/with_job.h"

#include <memory>
#include <utility>

#include "server/http/answer.h"

namespace tidemill {

Router::Route WithJob(ApiState& state, std::function<void(ApiState&, JobId, Call)> act) {
  return [&state, act = std::move(act)](Call call) {
    const std::string text = call.names[0];
    const std::string project = call.project;
    const std::shared_ptr<HttpPeer> peer = call.request.peer;
    // A reply must be copyable, and the body should not be copied with it.
    auto held = std::make_shared<Call>(std::move(call));
    state.names.Resolve(project, text, state.people, peer, [&state, act, held](Result<JobId> job) {
      if (job) {
        act(state, *job, std::move(*held));
        return;
      }
      AnswerWith<JobId>(state.log, std::move(held->respond),
                        [](JobId) { return HttpResponse{}; })(tl::unexpected(job.error()));
    });
  };
}

}  // namespace tidemill
