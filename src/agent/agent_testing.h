// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the agent: servers that are played, and what remembers what the agent tells.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/deps.h"
#include "agent/link.h"
#include "base/log.h"
#include "base/loop.h"
#include "report/block.h"

namespace tidemill {

// Plays the servers: hands out what the test puts into `to_grant`, and remembers what it is told.
class TestLink : public ServerLink {
 public:
  explicit TestLink(Loop& loop) : loop_(loop) {}

  void Join(JoinRequest request, Done<Joined> done) override {
    joins.push_back(request.session);
    join_tokens.push_back(request.join_token);
    last_join = request;
    if (refuse_joins) return Answer<Joined>(std::move(done), *refuse_joins);
    if (!good_token.empty() && request.join_token != good_token) {
      return Answer<Joined>(std::move(done), Fail(Code::kNobody, "no such token"));
    }
    Answer<Joined>(std::move(done),
                   Joined{request.session, SessionState::kAlive, std::chrono::seconds(10),
                          std::chrono::seconds(60), "token", policy, 0, known_as});
  }

  void Sync(SyncRequest request, Done<SyncResult> done) override {
    syncs.push_back(request);
    if (down) return Answer<SyncResult>(std::move(done), Fail(Code::kUnknown, "no answer"));
    if (lose_session) {
      lose_session = false;
      return Answer<SyncResult>(std::move(done), Fail(Code::kLost, "ended"));
    }
    if (refuse_syncs > 0) {
      --refuse_syncs;
      return Answer<SyncResult>(std::move(done), Fail(Code::kInvalid, "what is this?"));
    }
    SyncResult result;
    for (const Settlement& settlement : request.settlements) {
      if (to_refuse > 0) {
        --to_refuse;
        result.refused.push_back({settlement.lease, settlement.seq, "used before"});
      } else {
        Settle(settlement);
      }
    }
    for (const Trouble& trouble : request.troubles) troubles.push_back(trouble);
    result.gone = std::exchange(to_drop, {});
    result.followed = followed;
    result.back = back;
    result.limits = limits;
    result.streams = streams;
    if (request.free.millicpus > 0 && !to_grant.empty()) {
      result.grants.push_back(to_grant.front());
      to_grant.pop_front();
    }
    Answer<SyncResult>(std::move(done), result);
  }

  void Wait(const SessionPass&, Done<bool> done) override {
    const auto once = [answered = std::make_shared<bool>(), done](Result<bool> sync_now) {
      if (!std::exchange(*answered, true)) done(std::move(sync_now));
    };
    loop_.After(std::chrono::seconds(25), [once] { once(false); });
    waits = once;
  }
  void FetchItems(const SessionPass&, ChunkKey, Done<std::string> done) override {
    Answer<std::string>(
        done, items_away ? Result<std::string>(Fail(Code::kUnknown, "no answer")) : std::string());
  }
  void FetchSecrets(const SessionPass&, JobId, Done<Secrets> done) override {
    Answer<Secrets>(done, secrets);
  }
  void FetchRole(const SessionPass&, JobId, Done<RoleKeys> done) override {
    ++roles_asked;
    Answer<RoleKeys>(done, role_error ? Result<RoleKeys>(tl::unexpected(*role_error)) : role);
  }
  void PinImage(const SessionPass&, JobId job, const std::string& digest,
                Done<std::string> done) override {
    pins_asked.push_back({job, digest});
    Answer<std::string>(done, pin.value_or(digest));
  }
  void FetchJob(const SessionPass&, JobId id, Done<Job> done) override {
    if (documents.contains(id)) {
      Job job;
      job.id = id;
      job.spec.name = "test";
      job.spec.document = documents[id];
      job.items = 100;
      job.image_digest = image_digest;
      job.project = "films";
      job.objects = objects;
      Answer<Job>(std::move(done), job);
    } else {
      Answer<Job>(std::move(done), Fail(Code::kNotFound, "no such job"));
    }
  }

  Done<bool> waits;                      // the last one that does
  std::vector<JobId> followed;           // told with each sync
  std::vector<JobId> back;               // told with each sync
  std::map<JobId, std::int64_t> limits;  // told with each sync
  std::vector<AskedStream> streams;      // told with each sync
  std::string objects;                   // of every job
  std::map<JobId, std::string> documents;
  Secrets secrets;  // of every job
  RoleKeys role;    // of every job
  std::optional<Error> role_error = {};
  int roles_asked = 0;
  std::string image_digest;             // of every job
  std::optional<std::string> pin = {};  // what counts, if it is not what is told
  std::vector<std::pair<JobId, std::string>> pins_asked;
  std::deque<Grant> to_grant;
  std::vector<LeaseId> to_drop;
  bool down = false;
  bool items_away = false;
  bool lose_session = false;
  int to_refuse = 0;     // settlements
  int refuse_syncs = 0;  // whole ones

  MachineStatus last_status() const {
    for (auto sync = syncs.rbegin(); sync != syncs.rend(); ++sync) {
      if (sync->status) return *sync->status;
    }
    return {};
  }

  ContainerPolicy policy;                      // of the machine's pool
  std::string good_token;                      // empty: any
  std::optional<Result<Joined>> refuse_joins;  // with this, if it is set
  std::string known_as;                        // the machine, if not as it says
  JoinRequest last_join;
  std::vector<SessionId> joins;
  std::vector<std::string> join_tokens;
  std::vector<SyncRequest> syncs;
  std::vector<Trouble> troubles;
  std::map<std::int64_t, std::vector<Outcome>> outcomes;  // by item
  int given_back = 0;                                     // also those that had begun
  int given_begun = 0;                                    // of these

 private:
  template <typename T>
  void Answer(Done<T> done, Result<T> result) {
    loop_.After(std::chrono::milliseconds(1), [done, result] { done(result); });
  }
  void Settle(const Settlement& settlement) {
    given_back += settlement.back.Count();
    given_begun += settlement.begun.Count();
    if (settlement.body.empty()) return;
    const auto decoded = DecodeBlock(settlement.body);
    for (const Outcome& outcome : *decoded) {
      auto& known = outcomes[outcome.item];
      if (std::find(known.begin(), known.end(), outcome) == known.end()) known.push_back(outcome);
    }
  }

  Loop& loop_;
};

struct TestLogs : ItemLogs {
  void Append(const LogPlace& place, std::string_view bytes) override { text[place.item] += bytes; }
  std::string Close(const LogPlace& place) override {
    closed.insert(place.item);
    return session + "/" + std::to_string(place.item);
  }
  void UseSession(const std::string& id, bool is_new) override {
    session = id;
    session_is_new = is_new;
  }
  void Resume(const LogPlace& place) override { resumed.insert(place.item); }
  void StoreAt(JobId job, const std::string& url) override { places[job] = url; }
  void Follow(const std::vector<JobId>& jobs) override { followed = jobs; }
  std::string session;
  bool session_is_new = false;
  std::map<JobId, std::string> places;
  std::vector<JobId> followed;
  void LimitAttempts(std::int64_t) override {}
  std::map<std::int64_t, std::string> text;
  std::set<std::int64_t> resumed;
  std::set<std::int64_t> closed;
};

class TestLog : public Log {
 public:
  int CountOf(const std::string& event) const {
    return static_cast<int>(std::count(events_.begin(), events_.end(), event));
  }

 private:
  void Write(std::string_view, std::string_view event, Fields) override {
    events_.emplace_back(event);
  }
  std::vector<std::string> events_;
};

struct TestMemory : AgentMemory {
  void Keep(const SessionPass& kept) override { session = kept.session; }
  SessionId session;
};

}  // namespace tidemill
