// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/http_link.h"

#include <utility>

#include "wire/agent_json.h"
#include "wire/job_json.h"
#include "wire/pin_json.h"
#include "wire/problem_json.h"
#include "wire/role_json.h"
#include "wire/secret_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCallTime{20'000};
constexpr milliseconds kWaitTime{25'000};
constexpr const char* kJson = "application/json";

std::pair<std::string, std::string> Bearer(const std::string& token) {
  return {"Authorization", "Bearer " + token};
}

HttpCall CallOf(const SessionPass& pass, std::string target) {
  return {.target = std::move(target), .timeout = kCallTime, .headers = {Bearer(pass.token)}};
}

std::string JobTarget(const SessionPass& pass, JobId job, const std::string& tail) {
  return "/v1/agents/" + ToString(pass.session) + "/jobs/" + std::to_string(job.number) + tail;
}

}  // namespace

HttpLink::HttpLink(AsioLoop& loop, const std::vector<Origin>& servers, std::size_t first,
                   std::shared_ptr<const TlsTrust> trust)
    : current_(first % servers.size()) {
  // One call and one wait at a time.
  const HttpClientOptions options{.max_connections = 2, .max_queued = 16, .tls = std::move(trust)};
  for (const Origin& server : servers) {
    clients_.push_back(std::make_unique<HttpClient>(loop, server, options));
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

template <typename T, typename Parse>
void HttpLink::Ask(HttpCall call, Parse parse, Done<T> done) {
  Send(std::move(call), [parse, done = std::move(done)](Result<std::string> body) {
    if (body) {
      done(parse(*body));
    } else {
      done(tl::unexpected(body.error()));
    }
  });
}

void HttpLink::Join(JoinRequest request, Done<Joined> done) {
  HttpCall call{.method = "POST",
                .target = "/v1/agents/join",
                .content_type = kJson,
                .body = FormatJoinRequest(request),
                .timeout = kCallTime};
  if (!request.proof) call.headers.push_back(Bearer(request.join_token));
  Ask<Joined>(std::move(call), ParseJoinAnswer, std::move(done));
}

void HttpLink::Sync(SyncRequest request, Done<SyncResult> done) {
  Ask<SyncResult>(
      {.method = "POST",
       .target = "/v1/agents/sync",
       .content_type = kJson,
       .body = FormatSyncRequest(request),
       .timeout = kCallTime,
       .headers = {Bearer(request.token)}},
      [session = request.session](const std::string& body) {
        return ParseSyncResult(body, session);
      },
      std::move(done));
}

void HttpLink::Wait(const SessionPass& pass, Done<bool> done) {
  HttpCall call = CallOf(pass, "/v1/agents/wait?session=" + ToString(pass.session) +
                                   "&wait_ms=" + std::to_string(kWaitTime.count()));
  call.timeout = kWaitTime + kCallTime;
  Ask<bool>(std::move(call), ParseWaitAnswer, std::move(done));
}

void HttpLink::FetchItems(const SessionPass& pass, ChunkKey key, Done<std::string> done) {
  Send(CallOf(pass, JobTarget(pass, key.job, "/chunks/" + std::to_string(key.chunk) + "/items")),
       std::move(done));
}

void HttpLink::FetchJob(const SessionPass& pass, JobId job, Done<Job> done) {
  Ask<Job>(CallOf(pass, JobTarget(pass, job, "")), ParseJob, std::move(done));
}

void HttpLink::FetchSecrets(const SessionPass& pass, JobId job, Done<Secrets> done) {
  Ask<Secrets>(CallOf(pass, JobTarget(pass, job, "/secrets")), ParseSecretValues, std::move(done));
}

void HttpLink::FetchRole(const SessionPass& pass, JobId job, Done<RoleKeys> done) {
  Ask<RoleKeys>(CallOf(pass, JobTarget(pass, job, "/role")), ParseRoleKeys, std::move(done));
}

void HttpLink::PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                        Done<std::string> done) {
  HttpCall call = CallOf(pass, JobTarget(pass, job, "/pin"));
  call.method = "POST";
  call.content_type = kJson;
  call.body = FormatPin(digest);
  Ask<std::string>(std::move(call), ParsePin, std::move(done));
}

}  // namespace tidemill
