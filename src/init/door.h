// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "init/http.h"

namespace tidemill::init {

// Whoever answers what comes through a door.
class Answerer {
 public:
  virtual ~Answerer() = default;
  // `request.path` is what is behind the secret part. To be answered with Door::Answer, now or
  // later.
  virtual void OnRequest(std::uint64_t connection, const HttpRequest& request) = 0;
  // Nobody waits for the answer any more.
  virtual void OnClosed(std::uint64_t connection) = 0;
};

// The HTTP server of an init, for the programs of its container: on loopback, at a port that the
// kernel chose, and below a path that only they are told. One request at a time on a connection.
class Door {
 public:
  // Two for each processor of the largest machines, and half of the files that a process may
  // have open by default: programs keep theirs, and the next ones wait until one is closed.
  static constexpr std::size_t kConnectionsMost = 512;

  Door() = default;
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // 0, or errno: then there is no door, and no url.
  int Open();
  // "http://127.0.0.1:PORT/TOKEN", or empty.
  const std::string& url() const { return url_; }

  // What to poll for; Take gets the same entries back. While it is not `reading`, nothing new is
  // taken in.
  void AddPolls(bool reading, std::vector<pollfd>& polls) const;
  void Take(const pollfd* polls, std::size_t count, Answerer& answerer);
  void Answer(std::uint64_t connection, const HttpAnswer& answer);
  // Closes all connections, also those that nobody has let in yet: who made them is dead.
  void DropAll();

 private:
  struct Connection {
    std::uint64_t id = 0;
    int socket = -1;
    std::string in = {};
    std::string out = {};
    bool asked = false;      // a request is with the answerer
    bool keep_alive = true;  // of that request
    bool continued = false;  // it has been told to go on
    bool done = false;       // to be closed when all is sent
  };

  Connection* Find(std::uint64_t id);
  void LetIn();
  // False: it is over.
  bool Receive(Connection& connection);
  bool Send(Connection& connection);
  bool Serve(Connection& connection, Answerer& answerer);
  static void Refuse(Connection& connection, int status, std::string_view reason);

  int listener_ = -1;
  std::string token_;
  std::string url_;
  std::uint64_t next_id_ = 1;
  std::vector<Connection> connections_;
};

}  // namespace tidemill::init
