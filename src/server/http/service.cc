// SPDX-License-Identifier: Apache-2.0
#include "server/http/service.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "server/http/answer.h"

namespace tidemill {
namespace {

constexpr Duration kQuietCheck = std::chrono::milliseconds(10);

ApiOptions WithConnections(ApiOptions options, const HttpServer& http) {
  options.connections = [&http] { return http.connections(); };
  return options;
}

HttpServerOptions HttpOptions(const ServiceOptions& service, const Api& api) {
  HttpServerOptions options;
  options.address = service.listen.address;
  options.port = service.listen.port;
  options.tls = service.tls;
  // Not on loopback: a browser would take it for all ports of localhost.
  if (service.tls && !service.listen.loopback) {
    options.headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
  }
  // The one over the limit needs a descriptor too, to be told so.
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(service.connections_max, 16));
  options.max_connections = std::min(options.max_connections, most);
  options.admit = [&api](const HttpRequest& head) { return api.Foresee(head); };
  options.error_page = [](int status, std::string detail) {
    return ProblemAnswer(status, std::move(detail));
  };
  return options;
}

}  // namespace

Service::Service(ServiceDeps deps, const ServiceOptions& options)
    : deps_(deps),
      options_(options),
      api_(deps.server, deps.settings, deps.random, deps.log, WithConnections(options.api, http_)),
      http_(deps.loop, HttpOptions(options, api_),
            [this](HttpRequest request, HttpRespond respond) {
              api_.Handle(std::move(request), std::move(respond));
            }) {}

Result<void> Service::Start() {
  TIDEMILL_TRY_VOID(http_.Start());
  deps_.server.Start();
  TIDEMILL_TRY_VOID(WritePortFile());
  LookAtCertificate();
  deps_.log.Info("server.listening", {{"address", options_.listen.address},
                                      {"port", http_.port()},
                                      {"tls", options_.tls ? "yes" : "no"},
                                      {"connections_max", options_.connections_max}});
  return {};
}

// By way of another name: whoever looks finds all of it or nothing.
Result<void> Service::WritePortFile() const {
  if (options_.port_file.empty()) return {};
  const std::string draft = options_.port_file + ".new";
  std::ofstream file(draft);
  file << http_.port() << '\n';
  file.close();
  if (!file || std::rename(draft.c_str(), options_.port_file.c_str()) != 0) {
    return Fail(Code::kUnavailable, "cannot write the port to " + options_.port_file);
  }
  return {};
}

void Service::LookAtCertificate() {
  if (!options_.tls || stopping_) return;
  if (options_.tls->FilesChanged()) ReloadCertificate();
  deps_.loop.After(options_.certificate_look, [this] { LookAtCertificate(); });
}

void Service::ReloadCertificate() {
  if (!options_.tls) return;
  if (const auto reloaded = options_.tls->Reload(); !reloaded) {
    return deps_.log.Error("certificate.refused", {{"reason", reloaded.error().reason},
                                                   {"expires_s", options_.tls->expires_s()}});
  }
  deps_.log.Info("certificate.reloaded", {{"expires_s", options_.tls->expires_s()}});
}

void Service::Stop() {
  if (std::exchange(stopping_, true)) return;
  deps_.log.Info("server.stopping", {{"connections", http_.connections()}});
  api_.BeginStop();
  http_.StopAccepting();
  deps_.loop.After(kStopLimit, [this] {
    deps_.log.Warn("server.stopped_late", {{"connections", http_.connections()}});
    deps_.loop.Stop();
  });
  deps_.server.Stop([this] { server_stopped_ = true; });
  StopWhenQuiet();
}

void Service::StopWhenQuiet() {
  if (server_stopped_ && api_.idle() && http_.connections() == 0) {
    ended_well_ = true;
    deps_.log.Info("server.stopped");
    deps_.loop.Stop();
    return;
  }
  deps_.loop.After(kQuietCheck, [this] { StopWhenQuiet(); });
}

}  // namespace tidemill
