// SPDX-License-Identifier: Apache-2.0
#include "server/fleet.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "model/machine_name.h"
#include "model/token.h"

namespace tidemill {
namespace {

// After a refusal a pool is left in peace for this long, doubling: F32.
constexpr Duration kFirstRest = std::chrono::minutes(3);
constexpr Duration kLongestRest = std::chrono::minutes(10);
// A machine needs its join token when it has booted, and after a session that it lost. One that
// cannot join any more is idle, and is ended.
constexpr Duration kJoinTokenLife = std::chrono::hours(24);

NewToken TokenFor(const PoolWork& work, const std::string& name, Random& random) {
  NewToken token;
  token.id = random.NewId<TokenId>();
  token.kind = TokenKind::kJoin;
  token.secret = MakeToken(kJoinPrefix, random);
  token.name = name;
  token.project = work.pool.pool.project;
  token.pool = work.pool.pool.name;
  token.made_by = kAutoscaler;
  token.life = kJoinTokenLife;
  return token;
}

Duration RestAfter(std::int32_t tried) {
  return std::min(kFirstRest * (1 << std::min(tried, 4)), kLongestRest);
}

}  // namespace

struct Fleet::Looking {
  ProviderLook look;
  std::size_t missing = 0;
  TimerId timer = TimerId::kNone;
  std::function<void(ProviderLook)> done;

  void Finish(Loop& loop) {
    loop.Cancel(timer);
    if (done) std::exchange(done, {})(std::move(look));
  }
};

Provider* Fleet::Find(const PoolWork& work) const {
  const auto found = deps_.providers.find(work.pool.machines.provider);
  return found == deps_.providers.end() ? nullptr : found->second;
}

void Fleet::Look(const std::vector<PoolWork>& pools, std::function<void(ProviderLook)> done) {
  auto looking = std::make_shared<Looking>();
  looking->done = std::move(done);
  looking->missing = 1;  // this loop itself
  looking->timer = deps_.loop.After(list_limit_, [this, looking] {
    looking->timer = TimerId::kNone;
    looking->Finish(deps_.loop);
  });
  for (const PoolWork& work : pools) {
    Provider* const provider = Find(work);
    if (provider == nullptr) continue;
    ++looking->missing;
    provider->List(work.pool, [this, looking,
                               pool = work.pool.pool](const Result<std::vector<ListedAt>>& listed) {
      if (!listed) {
        deps_.log.Warn("provider.list_failed",
                       {{"pool", pool.name}, {"reason", listed.error().reason}});
      } else {
        looking->look.listed.insert({pool.project, pool.name});
        for (const ListedAt& machine : *listed) {
          const auto number = MachineNumber(pool.name, machine.name);
          if (!number) continue;
          looking->look.seen.push_back(
              {{pool.project, pool.name, *number}, machine.since, machine.ended, machine.id});
        }
      }
      if (--looking->missing == 0) looking->Finish(deps_.loop);
    });
  }
  if (--looking->missing == 0) looking->Finish(deps_.loop);
}

void Fleet::Carry(const std::vector<PoolWork>& pools) {
  for (const PoolWork& work : pools) {
    if (Find(work) == nullptr) continue;
    if (!work.make.empty()) Make(work);
    if (!work.end.empty()) End(work);
  }
}

void Fleet::Make(const PoolWork& work) {
  if (!making_.insert({work.pool.pool.project, work.pool.pool.name}).second) return;
  std::vector<NewToken> tokens;
  std::vector<MachineOrder> orders;
  for (const std::string& name : work.make) {
    orders.push_back({name, ""});
    if (!Find(work)->joins_by_token()) continue;
    tokens.push_back(TokenFor(work, name, deps_.random));
    orders.back().join_token = tokens.back().secret;
  }
  OnAccess(
      deps_,
      [tokens = std::move(tokens)](AccessStore& access) -> Result<void> {
        for (const NewToken& token : tokens) TIDEMILL_TRY_VOID(access.CreateToken(token));
        return {};
      },
      [this, work, orders = std::move(orders)](const Result<void>& made) mutable {
        if (!made) return Hear(work, tl::unexpected(made.error()));
        Find(work)->Make(work.pool, std::move(orders),
                         [this, work](const Result<Refused>& refused) { Hear(work, refused); });
      });
}

// What was refused is not ordered any more: the next round orders elsewhere, or again, later.
void Fleet::Hear(const PoolWork& work, const Result<Refused>& refused) {
  const Pool& pool = work.pool.pool;
  making_.erase({pool.project, pool.name});
  if (!refused) {
    deps_.log.Warn("provider.make_failed",
                   {{"pool", pool.name}, {"reason", refused.error().reason}});
    return;
  }
  ProviderWord word;
  if (!refused->names.empty()) {
    deps_.log.Warn(
        "provider.refused",
        {{"pool", pool.name}, {"machines", refused->names.size()}, {"reason", refused->words}});
    word.tried = work.word.tried + 1;
    word.no_capacity_until = work.now + RestAfter(work.word.tried);
    word.quota = refused->quota;
    word.words = refused->words;
  } else if (work.word.tried == 0) {
    return;  // nothing new
  }
  OnPlans(
      deps_,
      [pool, word, names = refused->names](PlanStore& plans) -> Result<void> {
        for (const std::string& name : names) {
          const auto number = MachineNumber(pool.name, name);
          if (number) TIDEMILL_TRY_VOID(plans.DropOrder({pool.project, pool.name, *number}));
        }
        return plans.SetProviderWord(pool.project, pool.name, word);
      },
      [this, pool](const Result<void>& kept) {
        if (kept) return;
        deps_.log.Warn("provider.word_lost",
                       {{"pool", pool.name}, {"reason", kept.error().reason}});
      });
}

void Fleet::End(const PoolWork& work) {
  const PoolKey key{work.pool.pool.project, work.pool.pool.name};
  if (!ending_.insert(key).second) return;
  Find(work)->End(work.pool, work.end, [this, key](const Result<void>& ended) {
    ending_.erase(key);
    if (ended) return;
    deps_.log.Warn("provider.end_failed", {{"pool", key.second}, {"reason", ended.error().reason}});
  });
}

}  // namespace tidemill
