// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/byte_stream.h"
#include "base/loop.h"
#include "base/result.h"
#include "cli/console.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace tidemill::cli {

// What may be done about a call that got no good answer.
struct Patience {
  // Ask again for so long while the server says 'not now', or nobody knows whether it was done.
  std::chrono::milliseconds busy{10'000};
  // The same while the server cannot be reached at all: zero where a wrong address is likely.
  std::chrono::milliseconds away{0};
};

// Who asks.
struct Credentials {
  std::string token = {};    // empty: none is shown
  std::string project = {};  // empty: the token's own
};

// One server, asked one thing at a time: a command line has nothing else to do while it waits. Runs
// the loop until the answer is there. One thread.
class Client {
 public:
  // `trust` says whom to believe that it is the server; null: whom the system believes.
  Client(AsioLoop& loop, const Console& console, std::string url, Origin origin,
         std::shared_ptr<const TlsTrust> trust = {}, Credentials credentials = {});

  // The body of a 2xx answer. Repeats the call, which is idempotent as all calls are, as long as
  // `patience` says; after two seconds of that the person is told, once.
  // kNotFound, kConflict, kInvalid, kExhausted ...: what the server said, in its words.
  // kUnavailable, kUnknown: it did not answer; see reached().
  Result<std::string> Call(HttpCall call, Patience patience = {});
  Result<std::string> Get(std::string target, Patience patience = {});
  Result<std::string> Post(std::string target, std::string body, Patience patience = {});
  Result<std::string> Put(std::string target, std::string body, Patience patience = {});
  Result<std::string> Delete(std::string target, Patience patience = {});

  // Asks once for a stream, on a connection of its own. `done` comes while the loop runs, never
  // from inside, and when it does reached() and forbidden() are about this call. Several may be
  // under way. The errors are those of Call.
  using StreamDone = std::function<void(Result<std::unique_ptr<ByteStream>>)>;
  void Upgrade(HttpCall call, StreamDone done);

  // Waits, but no longer than until Interrupt.
  void Sleep(std::chrono::milliseconds time);
  // From a signal's handler on the loop: ends the call or the sleep under way. Calls after it fail.
  void Interrupt();
  // After that: calls are made again, to tidy up.
  void GoOn() { interrupted_ = false; }
  bool interrupted() const { return interrupted_; }

  // Whether the last call had an answer of any kind.
  bool reached() const { return reached_; }
  bool forbidden() const { return forbidden_; }
  bool has_token() const { return !credentials_.token.empty(); }
  const std::string& url() const { return url_; }
  AsioLoop& loop() { return loop_; }

 private:
  Result<std::string> CallOnce(HttpCall call);
  void AddCredentials(HttpCall& call) const;
  // What an answer says that is not the one that was wanted.
  tl::unexpected<Error> ProblemIn(const HttpResponse& response);

  // Constant after construction.
  AsioLoop& loop_;
  const Console& console_;
  const std::string url_;
  const Credentials credentials_;

  HttpClient http_;
  bool reached_ = false;
  bool forbidden_ = false;
  bool interrupted_ = false;
};

// Tells what went wrong with a call about `job` (empty: about none) and what to do; gives the exit
// code that goes with it.
int Explain(const Console& console, const Client& client, const Error& error,
            const std::string& job = {});

// False, and told, if `name` cannot be that of anything; `whose` is as "a secret's".
bool CheckName(const Console& console, const std::string& whose, const std::string& name);

// "/v1/jobs/render-7" + tail
std::string JobTarget(const std::string& job, const std::string& tail = {});

}  // namespace tidemill::cli
