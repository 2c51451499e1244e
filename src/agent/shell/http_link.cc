// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/http_link.h"

#include <utility>

#include "wire/agent_json.h"
#include "wire/job_json.h"
#include "wire/problem_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCallTime{20'000};
constexpr milliseconds kWaitTime{25'000};
constexpr const char* kJson = "application/json";

// One call and one wait at a time.
constexpr HttpClientOptions kOptions{.max_connections = 2, .max_queued = 16};

}  // namespace

HttpLink::HttpLink(AsioLoop& loop, const std::vector<Origin>& servers, std::size_t first)
    : current_(first % servers.size()) {
  for (const Origin& server : servers) {
    clients_.push_back(std::make_unique<HttpClient>(loop, server, kOptions));
  }
}

void HttpLink::Send(HttpCall call, Done<std::string> done) {
  const std::size_t used = current_;
  clients_[used]->Send(std::move(call),
                       [this, used, done = std::move(done)](Result<HttpResponse> response) {
                         if (!response) {
                           if (current_ == used) current_ = (used + 1) % clients_.size();
                           done(tl::unexpected(response.error()));
                         } else if (response->status / 100 != 2) {
                           if (response->status == 503 && current_ == used)
                             current_ = (used + 1) % clients_.size();
                           done(tl::unexpected(ParseProblem(response->status, response->body)));
                         } else {
                           done(std::move(response->body));
                         }
                       });
}

void HttpLink::Join(JoinRequest request, Done<Joined> done) {
  Send({.method = "POST",
        .target = "/v1/agents/join",
        .content_type = kJson,
        .body = FormatJoinRequest(request),
        .timeout = kCallTime},
       [done = std::move(done)](Result<std::string> body) {
         if (body) {
           done(ParseJoinAnswer(*body));
         } else {
           done(tl::unexpected(body.error()));
         }
       });
}

void HttpLink::Sync(SyncRequest request, Done<SyncResult> done) {
  Send({.method = "POST",
        .target = "/v1/agents/sync",
        .content_type = kJson,
        .body = FormatSyncRequest(request),
        .timeout = kCallTime},
       [session = request.session, done = std::move(done)](Result<std::string> body) {
         if (body) {
           done(ParseSyncResult(*body, session));
         } else {
           done(tl::unexpected(body.error()));
         }
       });
}

void HttpLink::Wait(SessionId session, Done<bool> done) {
  Send({.target = "/v1/agents/wait?session=" + ToString(session) +
                  "&wait_ms=" + std::to_string(kWaitTime.count()),
        .timeout = kWaitTime + kCallTime},
       [done = std::move(done)](Result<std::string> body) {
         if (body) {
           done(ParseWaitAnswer(*body));
         } else {
           done(tl::unexpected(body.error()));
         }
       });
}

void HttpLink::FetchItems(ChunkKey key, Done<std::string> done) {
  Send({.target = "/v1/jobs/" + std::to_string(key.job.number) + "/chunks/" +
                  std::to_string(key.chunk) + "/items",
        .timeout = kCallTime},
       std::move(done));
}

void HttpLink::FetchJob(JobId job, Done<Job> done) {
  Send({.target = "/v1/jobs/" + std::to_string(job.number), .timeout = kCallTime},
       [done = std::move(done)](Result<std::string> body) {
         if (body) {
           done(ParseJob(*body));
         } else {
           done(tl::unexpected(body.error()));
         }
       });
}

}  // namespace tidemill
