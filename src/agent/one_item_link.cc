// SPDX-License-Identifier: Apache-2.0
#include "agent/one_item_link.h"

#include <chrono>
#include <utility>

#include "report/block.h"
#include "submit/cut.h"

namespace tidemill {
namespace {

// There is no server that could miss the agent; but a laptop may sleep.
constexpr Duration kHeartbeat = std::chrono::seconds(5);
constexpr Duration kLife = std::chrono::hours(24 * 30);

}  // namespace

OneItemLink::OneItemLink(Loop& loop, Random& random, OneItem item, Listener listener)
    : loop_(loop), random_(random), item_(std::move(item)), listener_(std::move(listener)) {}

template <typename T>
void OneItemLink::Answer(Done<T> done, Result<T> answer) {
  loop_.After(Duration{}, [done = std::move(done), answer = std::move(answer)] { done(answer); });
}

void OneItemLink::Join(JoinRequest request, Done<Joined> done) {
  Joined joined;
  joined.session = request.session;
  joined.heartbeat = kHeartbeat;
  joined.life = kLife;
  joined.token = "here";
  for (const auto& [name, folder] : item_.volumes) joined.policy.volumes[name].host = folder;
  Answer<Joined>(std::move(done), std::move(joined));
}

// A chunk of its own: all that an item can see is its number in the job, and the job's count.
Grant OneItemLink::MakeGrant(const SessionId& session) {
  Grant grant;
  grant.lease.id = random_.NewId<LeaseId>();
  grant.lease.session = session;
  grant.lease.chunk = {item_.job.id, 0};
  grant.lease.round = item_.round;
  grant.lease.mine = Bits::All(1);
  grant.lease.memory_bytes = item_.memory_bytes;
  grant.first_item = item_.item;
  if (item_.attempt > 1) {
    ItemTry before;
    before.job = item_.job.id;
    before.item = item_.item;
    before.attempts = item_.attempt - 1;
    grant.tries.push_back(before);
  }
  return grant;
}

void OneItemLink::HearStatus(const SyncRequest& request) {
  for (const Trouble& trouble : request.troubles) why_ = trouble.reason;
  if (!request.status) return;
  for (const JobUse& use : request.status->jobs) {
    if (!use.trouble.empty()) why_ = use.trouble;
    if (!use.waits_for.empty()) listener_.waits(use.waits_for);
  }
}

bool OneItemLink::Hear(const Settlement& settlement) {
  const auto rows = DecodeBlock(settlement.body);
  if (rows && !rows->empty()) {
    End({.outcome = rows->back(), .reason = {}});
    return true;
  }
  // An agent that a sync of failed says with the next one how it is: so also why it gave it back.
  if (why_.empty() && !std::exchange(asked_why_, true)) return false;
  End({.outcome = {}, .reason = why_.empty() ? "this machine has no room for it" : why_});
  return true;
}

void OneItemLink::End(OneEnd end) {
  if (std::exchange(has_ended_, true)) return;
  loop_.After(Duration{}, [this, end = std::move(end)] { listener_.over(end); });
}

void OneItemLink::Sync(SyncRequest request, Done<SyncResult> done) {
  HearStatus(request);
  for (const Settlement& settlement : request.settlements) {
    if (!Hear(settlement)) {
      return Answer<SyncResult>(std::move(done), Fail(Code::kUnavailable, "say why"));
    }
  }
  SyncResult result;
  if (!given_ && !request.leaving && request.free.millicpus > 0) {
    given_ = true;
    result.grants.push_back(MakeGrant(request.session));
  }
  Answer<SyncResult>(std::move(done), std::move(result));
}

void OneItemLink::Wait(const SessionPass&, Done<bool> done) { waiting_ = std::move(done); }

void OneItemLink::FetchItems(const SessionPass&, ChunkKey, Done<std::string> done) {
  if (item_.text.empty()) return Answer<std::string>(std::move(done), std::string());
  const auto cut = CutLines(item_.text + "\n");
  if (cut && cut->items == 1) {
    return Answer<std::string>(std::move(done), cut->chunks.front().body);
  }
  const std::string why = cut ? "it has several lines" : cut.error().reason;
  Answer<std::string>(std::move(done), Fail(Code::kInvalid, "the item: " + why));
}

void OneItemLink::FetchJob(const SessionPass&, JobId, Done<Job> done) {
  Answer<Job>(std::move(done), item_.job);
}

void OneItemLink::FetchSecrets(const SessionPass&, JobId, Done<Secrets> done) {
  Answer<Secrets>(std::move(done), item_.secrets);
}

void OneItemLink::FetchRole(const SessionPass&, JobId, Done<RoleKeys> done) {
  Answer<RoleKeys>(
      std::move(done),
      Fail(Code::kInvalid, "the job has a role, whose keys only machines of the fleet are given"));
}

void OneItemLink::PinImage(const SessionPass&, JobId, const std::string& digest,
                           Done<std::string> done) {
  Answer<std::string>(std::move(done), digest);
}

}  // namespace tidemill
