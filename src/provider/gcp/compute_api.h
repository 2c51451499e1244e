// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "cloud/google_tokens.h"
#include "cloud/web.h"
#include "cloud/world.h"
#include "net/asio_loop.h"
#include "provider/gcp/gcp_options.h"
#include "wire/tree.h"

namespace tidemill {

// A call to Compute: /compute/v1/projects/PROJECT, then the path.
struct ComputeAsk {
  std::string project = {};
  std::string method = "GET";
  std::string path = {};
  std::string query = {};  // encoded, without the question mark
  std::optional<Tree> body = {};
};

// Google's Compute API, version 1. Answers come later, once, on the loop thread; after its end none
// comes. Loop thread only. Nothing survives a restart.
//
// What fails for a moment (no answer, 429, 5xx, a limit of calls) is tried again after a random
// wait, some times; so all calls must be such that they may be said twice. Errors:
//   kUnavailable, kUnknown  it went on failing; or an operation was not done in time (kUnknown)
//   kForbidden, kNobody     Google does not know us, or we may not
//   kNotFound, kConflict    there is no such thing; it is there already, or in use
//   kExhausted              no quota, no room; or more pages than anybody has
//   kInvalid                anything else that Google does not like
class ComputeApi {
 public:
  ComputeApi(AsioLoop& loop, Random& random, CloudWorld world, GcpOptions options);
  ~ComputeApi();

  void Call(ComputeAsk ask, std::function<void(Result<Tree>)> done);

  struct PageRules {
    std::string field = "items";
    // Looks at each page; true: no further one is needed.
    std::function<bool(const Tree::List&)> is_enough = {};
    // With more pages than there may be, what was read is the answer, and no error.
    bool is_cut = false;
  };
  // All pages of a list as one.
  void Pages(ComputeAsk ask, PageRules rules, std::function<void(Result<Tree::List>)> done);

  // Begins an operation and waits until it is done, at most until then.
  void Run(ComputeAsk ask, TimePoint until, std::function<void(Result<void>)> done);

  void After(Duration delay, std::function<void()> call);
  TimePoint Now() const { return loop_.Now(); }
  const GcpOptions& options() const { return options_; }

 private:
  struct Trying;
  struct Paging;
  struct Waiting;
  void Try(const std::shared_ptr<Trying>& trying);
  void Send(const std::shared_ptr<Trying>& trying, const std::string& token);
  void OnAnswer(const std::shared_ptr<Trying>& trying, const Result<HttpResponse>& got);
  void Again(const std::shared_ptr<Trying>& trying, Error error);
  void NextPage(const std::shared_ptr<Paging>& paging);
  void OnOperation(const std::shared_ptr<Waiting>& waiting, const Result<Tree>& got);

  // Constant after construction.
  AsioLoop& loop_;
  Random& random_;
  const GcpOptions options_;
  const Result<WebUrl> root_;

  // Loop thread only.
  GoogleTokens tokens_;
  Web web_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
