// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/random.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "net/tls.h"
#include "server/http/api.h"
#include "server/http/listen.h"
#include "server/server.h"

namespace tidemill {

struct ServiceDeps {
  AsioLoop& loop;
  Server& server;
  SettingsStore& settings;
  Random& random;
  Log& log;
};

struct ServiceOptions {
  Listen listen;
  std::shared_ptr<TlsIdentity> tls;      // null: clear text
  std::string port_file;                 // gets the port once it is listened on; empty: none
  std::int64_t connections_max = 1'000;  // as the limit of open files lets it have
  // Between two looks whether the files of the certificate have changed.
  Duration certificate_look = std::chrono::seconds(10);
  ApiOptions api;
};

// A server that listens, from its start to its end. Loop thread only.
class Service {
 public:
  Service(ServiceDeps deps, const ServiceOptions& options);

  // kInvalid, kUnavailable: the address cannot be listened on, or the port file not be written.
  Result<void> Start();

  // Takes the certificate's files anew. What is wrong with them is told in the log; then the old
  // certificate goes on to serve. See ServiceOptions::certificate_look.
  void ReloadCertificate();

  // Accepts nobody new, answers those that wait, lets what is under way end, then stops the loop.
  // After kStopLimit it stops the loop anyway; ended_well() tells. May be called once.
  static constexpr Duration kStopLimit = std::chrono::seconds(20);
  void Stop();
  bool stopping() const { return stopping_; }
  bool ended_well() const { return ended_well_; }

 private:
  void StopWhenQuiet();
  void LookAtCertificate();
  Result<void> WritePortFile() const;

  const ServiceDeps deps_;
  const ServiceOptions options_;
  bool stopping_ = false;
  bool server_stopped_ = false;
  bool ended_well_ = false;
  Api api_;
  // After the routes: what it still calls when it goes must be there.
  HttpServer http_;
};

}  // namespace tidemill
