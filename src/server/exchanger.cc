// SPDX-License-Identifier: Apache-2.0
#include "server/exchanger.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "model/token.h"

namespace tidemill {
namespace {

// What a sync holds in memory while it waits, about.
std::size_t BytesOf(const SyncRequest& request) {
  std::size_t bytes = 1024;
  if (request.status) {
    for (const JobUse& use : request.status->jobs) {
      bytes += sizeof use + use.trouble.size() + use.waits_for.size() +
               use.progress.size() * (sizeof(ItemProgress) + limits::kNoteBytes);
    }
  }
  for (const Trouble& trouble : request.troubles) bytes += sizeof trouble + trouble.reason.size();
  for (const Settlement& settlement : request.settlements) {
    bytes += sizeof settlement + settlement.body.size();
  }
  return bytes;
}

AgentRoom RoomOf(const SyncRequest& request) {
  return {request.free, {request.resting.begin(), request.resting.end()}, request.holds};
}

}  // namespace

Exchanger::Exchanger(ServerDeps deps, const ServerLimits& limits, JobBoard& board, Events events)
    : deps_(deps), limits_(limits), board_(board), events_(std::move(events)) {}

Exchanger::~Exchanger() { deps_.loop.Cancel(timer_); }

void Exchanger::Sync(SyncRequest request, Reply<SyncResult> reply) {
  if (stopped_) {
    reply(Fail(Code::kUnavailable, "this server is stopping; try another one"));
    return;
  }
  const std::size_t bytes = BytesOf(request);
  const bool too_many = pending_.size() >= limits_.pending_syncs;
  if (too_many || pending_bytes_ + bytes > limits_.pending_bytes) {
    // Those who are refused are not heard either: nobody may be given up for that.
    events_.unheard();
    reply(Fail(Code::kExhausted, "too many agents are waiting for this server; try again soon"));
    return;
  }
  if (Knows({request.session, request.token})) Hear(request);
  const Duration delay = IsUrgent(request) ? limits_.gather : limits_.idle_gather;
  pending_bytes_ += bytes;
  pending_.push_back({std::move(request), std::move(reply)});
  ScheduleFlush(pending_.size() >= limits::kSyncsPerBatch ? Duration::zero() : delay);
}

bool Exchanger::IsUrgent(const SyncRequest& request) const {
  return request.leaving || !request.settlements.empty() || !request.troubles.empty() ||
         board_.Fits(PlaceOf(request.session), RoomOf(request));
}

AgentPlace Exchanger::PlaceOf(SessionId session) const {
  const Agent* const agent = FindAgent(session);
  return agent == nullptr ? AgentPlace{.session = session} : agent->place;
}

// The earliest wish counts.
void Exchanger::ScheduleFlush(Duration delay) {
  const TimePoint at = deps_.loop.Now() + delay;
  if (timer_ != TimerId::kNone) {
    if (flush_at_ <= at) return;
    deps_.loop.Cancel(timer_);
  }
  flush_at_ = at;
  timer_ = deps_.loop.After(delay, [this] {
    timer_ = TimerId::kNone;
    Flush();
  });
}

void Exchanger::Flush() {
  while (!pending_.empty() && in_flight_ < limits_.batches_in_flight) {
    ++in_flight_;
    Run(TakeBatch());
  }
}

Exchanger::Batch Exchanger::TakeBatch() {
  Batch batch;
  std::size_t bytes = 0;
  while (!pending_.empty() && batch.size() < limits::kSyncsPerBatch &&
         bytes < limits_.batch_bytes) {
    const std::size_t one = BytesOf(pending_.front().request);
    bytes += one;
    pending_bytes_ -= one;
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  return batch;
}

Exchange Exchanger::ExchangeOf(const Batch& batch) {
  Exchange exchange;
  exchange.syncs.reserve(batch.size());
  for (const Pending& pending : batch) {
    const SyncRequest& request = pending.request;
    SyncOrder& order = exchange.syncs.emplace_back();
    order.session = request.session;
    order.token = request.token;
    order.spare = SpareFor(request.session);
    order.token_life = limits_.session_token_life;
    order.address = request.address;
    order.life = limits_.session_life;
    order.known = request.known;
    order.settlements = request.settlements;
    order.status = request.status;
    order.troubles = request.troubles;
    order.leaving = request.leaving;
    if (request.leaving) continue;
    order.asks = board_.AsksFor(PlaceOf(request.session), RoomOf(request), agents(), deps_.random);
    for (const Ask& ask : order.asks) exchange.cursors[ask.job] = board_.cursor(ask.job);
  }
  return exchange;
}

void Exchanger::Run(Batch batch) {
  const auto exchange = std::make_shared<const Exchange>(ExchangeOf(batch));
  OnStore(
      deps_, deps_.exchange_worker, [exchange](Store& store) { return store.Run(*exchange); },
      [this, exchange, batch = std::move(batch)](Result<ExchangeResult> result) mutable {
        if (!result && result.error().code == Code::kInternal && batch.size() > 1) {
          deps_.log.Warn("exchange.split",
                         {{"reason", result.error().reason}, {"syncs", batch.size()}});
          RunOneByOne(std::move(batch));
          return;
        }
        Finish(std::move(batch), std::move(result));
        BatchDone();
      });
}

// Keeps the batch's place among those in flight until its last sync is done.
void Exchanger::RunOneByOne(Batch batch) {
  if (batch.empty()) {
    BatchDone();
    return;
  }
  Batch one;
  one.push_back(std::move(batch.back()));
  batch.pop_back();
  const auto exchange = std::make_shared<const Exchange>(ExchangeOf(one));
  OnStore(
      deps_, deps_.exchange_worker, [exchange](Store& store) { return store.Run(*exchange); },
      [this, exchange, one = std::move(one),
       rest = std::move(batch)](Result<ExchangeResult> result) mutable {
        Finish(std::move(one), std::move(result));
        RunOneByOne(std::move(rest));
      });
}

void Exchanger::Finish(Batch batch, Result<ExchangeResult> result) {
  ++totals_.batches;
  if (!result) {
    if (result.error().code == Code::kInternal) {
      deps_.log.Error("exchange.failed", {{"session", ToString(batch.front().request.session)},
                                          {"reason", result.error().reason}});
    } else {
      events_.unheard();
    }
    for (Pending& pending : batch) {
      board_.book().Unbook(pending.request.session);
      pending.reply(tl::unexpected(result.error()));
    }
    return;
  }
  TIDEMILL_CHECK(result->syncs.size() == batch.size());
  Learn(batch, *result);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    SyncResult& sync = result->syncs[i];
    if (sync.lost) {
      board_.book().Unbook(batch[i].request.session);
      Forget(batch[i].request);
      batch[i].reply(Fail(Code::kLost, "this session has ended; drop its work and join again"));
      continue;
    }
    events_.synced(batch[i].request, sync);
    if (batch[i].request.leaving) agents_.erase(batch[i].request.session);
    batch[i].reply(std::move(sync));
  }
}

void Exchanger::Learn(const Batch& batch, const ExchangeResult& result) {
  totals_.syncs += static_cast<std::int64_t>(batch.size());
  totals_.outcomes += result.outcomes;
  for (const auto& [job, chunk] : result.cursors) board_.SetCursor(job, chunk);
  for (const JobId job : result.dry) board_.MarkDry(job);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (result.syncs[i].lost) continue;
    LearnPass(batch[i].request, result.syncs[i]);
    board_.book().Settle(PlaceOf(batch[i].request.session), result.syncs[i].owed);
    for (const Measured& measured : batch[i].request.measured) {
      board_.Measure(result.syncs[i].project, measured.job, measured.items, measured.run_ms);
    }
  }
  for (const SyncResult& sync : result.syncs) {
    for (const Grant& grant : sync.grants) {
      ++totals_.leases;
      board_.Granted(grant.lease.chunk.job, grant.lease.mine.Count());
    }
  }
  if (board_.book().TakeHeldBack()) events_.unbooked();
  if (!result.freed.empty()) events_.freed(result.freed);
  if (!result.chunk_done.empty()) events_.chunk_done(result.chunk_done);
  if (!result.troubles.empty()) LearnTroubles(batch, result);
}

void Exchanger::LearnTroubles(const Batch& batch, const ExchangeResult& result) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (result.syncs[i].lost) continue;
    std::vector<Trouble> believed;
    for (const Trouble& trouble : batch[i].request.troubles) {
      const auto said = [&](const Trouble& other) { return other.job == trouble.job; };
      if (std::any_of(result.troubles.begin(), result.troubles.end(), said)) {
        believed.push_back(trouble);
      }
    }
    if (!believed.empty()) events_.troubles(batch[i].request.session, believed);
  }
}

void Exchanger::LearnPass(const SyncRequest& request, const SyncResult& result) {
  const bool unasked = PlaceOf(request.session).project.empty();
  Know({request.session, request.token},
       {request.session, result.project, result.pool, result.machine, result.shape});
  agents_[request.session].unasked = unasked && board_.book().in_force();
  Hear(request);
  if (result.before_from.empty()) return;
  // It may be a machine that has moved; it may be somebody who has its token.
  deps_.log.Warn("session.moved", {{"session", ToString(request.session)},
                                   {"from", result.before_from},
                                   {"to", request.address}});
}

void Exchanger::Know(const SessionPass& pass, AgentPlace place) {
  Agent& agent = agents_[pass.session];
  agent.place = std::move(place);
  agent.token = pass.token;
  agent.good_at = deps_.loop.Now();
  agent.heard = std::max(agent.heard, agent.good_at - limits_.session_life / 2);
}

bool Exchanger::Knows(const SessionPass& pass) const {
  const Agent* agent = FindAgent(pass.session);
  return agent != nullptr && !pass.token.empty() && agent->token == pass.token &&
         deps_.loop.Now() - agent->good_at < limits_.session_life;
}

void Exchanger::Hear(const SyncRequest& request) {
  Agent& agent = agents_[request.session];
  agent.room = RoomOf(request);
  agent.heard = deps_.loop.Now();
}

// Whoever came with another token than the session's has not ended it.
void Exchanger::Forget(const SyncRequest& request) {
  const auto found = agents_.find(request.session);
  if (found == agents_.end() || found->second.token != request.token) return;
  board_.book().Forget(request.session);
  agents_.erase(found);
  events_.forgotten(request.session);
}

std::string Exchanger::SpareFor(SessionId session) {
  const auto found = agents_.find(session);
  if (found == agents_.end()) return MakeToken(kSessionPrefix, deps_.random);
  Agent& agent = found->second;
  const TimePoint now = deps_.loop.Now();
  const bool lately =
      agent.offered != TimePoint{} && now - agent.offered < limits_.session_token_life / 10;
  if (lately) return {};
  agent.offered = now;
  return MakeToken(kSessionPrefix, deps_.random);
}

void Exchanger::BatchDone() {
  --in_flight_;
  // What has gathered meanwhile has waited long enough.
  if (!pending_.empty() && timer_ == TimerId::kNone) ScheduleFlush(Duration::zero());
  if (stopped_ && pending_.empty() && in_flight_ == 0) std::exchange(stopped_, [] {})();
}

void Exchanger::Stop(std::function<void()> done) {
  stopped_ = std::move(done);
  if (pending_.empty() && in_flight_ == 0) {
    std::exchange(stopped_, [] {})();
    return;
  }
  ScheduleFlush(Duration::zero());
}

const Exchanger::Agent* Exchanger::FindAgent(SessionId session) const {
  const auto found = agents_.find(session);
  return found == agents_.end() ? nullptr : &found->second;
}

void Exchanger::ForgetSilentAgents() {
  const TimePoint before = deps_.loop.Now() - limits_.session_life;
  std::erase_if(agents_, [before](const auto& entry) { return entry.second.heard < before; });
}

}  // namespace tidemill
