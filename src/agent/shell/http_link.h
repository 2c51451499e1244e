// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "agent/link.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace tidemill {

// An agent's calls over HTTP. It stays with one server until a call is not answered, then goes to
// the next. Loop thread only.
class HttpLink : public ServerLink {
 public:
  // `trust` says whom to believe; it is needed if one of the servers is https.
  HttpLink(AsioLoop& loop, const std::vector<Origin>& servers, std::size_t first,
           std::shared_ptr<const TlsTrust> trust = {});

  void Join(JoinRequest request, Done<Joined> done) override;
  void Sync(SyncRequest request, Done<SyncResult> done) override;
  void Wait(const SessionPass& pass, Done<bool> done) override;
  void FetchItems(const SessionPass& pass, ChunkKey key, Done<std::string> done) override;
  void FetchJob(const SessionPass& pass, JobId job, Done<Job> done) override;
  void FetchSecrets(const SessionPass& pass, JobId job, Done<Secrets> done) override;
  void FetchRole(const SessionPass& pass, JobId job, Done<RoleKeys> done) override;
  void PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                Done<std::string> done) override;

 private:
  // Hands out the body of an answer of 2xx; any other is an error.
  void Send(HttpCall call, Done<std::string> done);
  // The same, parsed.
  template <typename T, typename Parse>
  void Ask(HttpCall call, Parse parse, Done<T> done);

  std::vector<std::unique_ptr<HttpClient>> clients_;
  std::size_t current_;
};

}  // namespace tidemill
