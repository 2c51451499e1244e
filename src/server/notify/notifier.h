// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/seal.h"
#include "model/notify.h"
#include "net/http.h"
#include "server/deps.h"
#include "server/notify/news.h"
#include "server/outlook.h"
#include "store/notify_store.h"

namespace tidemill {

// Tells receivers of jobs. Every server does so; the store gives each notification to one of them
// at a time. Loop thread only. Nothing of it survives a restart: what is still to be told stands in
// the database.
//
//   a job's row ──tell──▶ notifications, due ──take──▶ a call ──▶ delivered, due again, given up
class Notifier {
 public:
  // As Webhooks::Send.
  using Send = std::function<void(const NotifyUrl&, HttpCall, Reply<HttpResponse>)>;
  struct Options {
    std::shared_ptr<const KeyRing> keys = {};  // of secrets; null: nothing can be signed
    std::function<std::int64_t()> wall_ms;     // signatures have the time
    Duration every = std::chrono::seconds(1);
    // Whether a budget is used up is decided from everything that is planned; nobody needs to know
    // it within the second.
    Duration budgets_every = std::chrono::seconds(5);
    // Calls under way: a receiver that never answers holds one for ten seconds. One project's
    // cannot hold all.
    int at_once = 64;
    int each = 8;
    // A try that nobody says the end of is made again: longer than any try takes.
    Duration hold = std::chrono::seconds(30);
  };
  // All outlive it.
  Notifier(ServerDeps deps, NotifyStore& notify, Send send, Options options);
  ~Notifier();

  void Start();
  // Begins nothing more; what is under way is forgotten, and taken up by another server.
  void Stop() { stopped_ = true; }

  int under_way() const { return under_way_; }

 private:
  using Step = void (Notifier::*)();
  void After(Duration delay, Step step);
  void Tell();
  void LookAtBudgets();
  void AskOutlook(const std::vector<Job>& jobs);
  void Deliver();
  void Begin(const DueNotification& due);
  void Call(const DueNotification& due, const std::optional<std::string>& secret);
  void End(const DueNotification& due, const Result<HttpResponse>& answer);
  void Warn(const char* what, const Error& error);
  NewsDeps News();

  const ServerDeps deps_;
  NotifyStore& notify_;
  const Send send_;
  const Options options_;
  Outlook outlook_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::set<TimerId> timers_;
  JobId told_{};     // the next look is at the jobs after this one,
  JobId watched_{};  // and at the budgets of those after this one
  int under_way_ = 0;
  std::map<std::string, int> of_project_;  // under way
  bool stopped_ = false;
};

}  // namespace tidemill
