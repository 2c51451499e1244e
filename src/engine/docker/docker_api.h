// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/asio_loop.h"
#include "net/http_client.h"
#include "wire/docker_json.h"

namespace tidemill {

// The version of the API to speak with an Engine that offers this one: no newer than what this code
// was written for. kUnavailable: it is too old.
Result<std::string> NegotiateApi(const DockerVersion& engine);

// The few calls of the Docker Engine that are needed, each with a deadline. All failures are
// kUnavailable unless it says otherwise, and their reasons are for people. Loop thread only; `done`
// is never called from inside, and not after this object is gone.
class DockerApi {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  DockerApi(AsioLoop& loop, std::string socket_path);

  // To be called before all others: agrees on a version.
  void Connect(Done<DockerVersion> done);
  void Info(Done<DockerInfo> done);
  // kNotFound: there is no such network.
  void FindNetwork(const std::string& name, Done<DockerNetwork> done);
  void MakeNetwork(const std::string& name, const DockerNetwork& network, Done<void> done);
  // kNotFound: it is not on this machine.
  void FindImage(const std::string& image, Done<DockerImage> done);
  // A name that is taken is no error: names are used once, so it is the answer to a repeated call.
  // kInvalid: the spec can never be run.
  void Create(const std::string& name, const DockerCreate& create, Done<void> done);
  void Start(const std::string& name, Done<void> done);
  // kNotFound: there is no such container.
  void Inspect(const std::string& name, std::chrono::seconds timeout, Done<DockerState> done);
  // As Inspect, with written_bytes; the Engine counts long if there are many files.
  void Measure(const std::string& name, Done<DockerState> done);
  // Kills it first. OK also if there is none; an error also while it is being removed.
  void Remove(const std::string& name, Done<void> done);
  // All containers with this label, also those that have ended.
  void List(const std::string& label, const std::string& value,
            Done<std::vector<std::string>> done);

  // "/v1.41", or "" before Connect.
  const std::string& prefix() const { return prefix_; }
  // An HTTP client's failure in words that tell what to do.
  tl::unexpected<Error> Unreachable(const Error& error) const;
  Origin origin() const { return {.host = "docker", .unix_path = socket_path_}; }

 private:
  void Call(HttpCall call, std::function<void(Result<HttpResponse>)> done);

  // Constant after construction.
  const std::string socket_path_;
  // Loop thread only.
  HttpClient client_;
  std::string prefix_;
};

}  // namespace tidemill
