// SPDX-License-Identifier: Apache-2.0
#include "provider/fake_provider.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

constexpr Duration kEndedListed = std::chrono::hours(1);

}  // namespace

FakeProvider::FakeProvider(Loop& loop, std::function<TimePoint()> clock)
    : loop_(loop), clock_(std::move(clock)) {}

FakeProvider::Key FakeProvider::KeyOf(const PoolSettings& pool, const std::string& name) {
  return {pool.pool.project, pool.pool.name, name};
}

template <typename T>
void FakeProvider::Answer(std::function<void(Result<T>)> done, Result<T> result) {
  loop_.After(play_.answering, [alive = std::weak_ptr<char>(alive_), done = std::move(done),
                                result = std::move(result)] {
    if (!alive.expired()) done(result);
  });
}

std::int64_t FakeProvider::there() const {
  return std::count_if(machines_.begin(), machines_.end(),
                       [](const auto& entry) { return !entry.second.ended; });
}

std::int64_t FakeProvider::there(const PoolSettings& pool) const {
  const auto is_there = [&pool](const auto& entry) {
    return entry.first.project == pool.pool.project && entry.first.pool == pool.pool.name &&
           !entry.second.ended;
  };
  return std::count_if(machines_.begin(), machines_.end(), is_there);
}

// For how many more; nothing: for any number.
std::optional<std::int64_t> FakeProvider::Room() const {
  std::optional<std::int64_t> most = play_.capacity;
  if (play_.quota && (!most || *play_.quota < *most)) most = play_.quota;
  if (!most) return most;
  return std::max<std::int64_t>(*most - there(), 0);
}

void FakeProvider::Prepare(const PoolSettings& /*pool*/, std::function<void(Result<void>)> done) {
  Answer<void>(std::move(done),
               play_.error ? Result<void>(tl::unexpected(*play_.error)) : Result<void>());
}

void FakeProvider::Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) {
  Prepare(pool, std::move(done));
}

void FakeProvider::Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
                        std::function<void(Result<Refused>)> done) {
  if (play_.error) return Answer<Refused>(std::move(done), tl::unexpected(*play_.error));
  Refused refused;
  for (MachineOrder& order : machines) {
    const Key key = KeyOf(pool, order.name);
    if (machines_.contains(key)) continue;
    if (Room().value_or(1) == 0) {
      refused.names.push_back(order.name);
      continue;
    }
    machines_[key].since = clock_();
    if (play_.never_up.contains(order.name) || play_.is_never_up()) continue;
    const auto own = play_.booting_in.find(pool.pool.name);
    loop_.After(own == play_.booting_in.end() ? play_.booting : own->second,
                [this, alive = std::weak_ptr<char>(alive_), key, pool, order = std::move(order)] {
                  if (alive.expired() || machines_.at(key).ended || !play_.on_up) return;
                  play_.on_up(pool, order);
                });
  }
  if (!refused.names.empty()) {
    const bool is_quota = play_.quota && there() >= *play_.quota;
    refused.words = is_quota ? "the quota is reached" : "there is no capacity";
    if (is_quota) refused.quota = play_.quota;
  }
  Answer<Refused>(std::move(done), std::move(refused));
}

void FakeProvider::End(const PoolSettings& pool, std::vector<std::string> names,
                       std::function<void(Result<void>)> done) {
  if (play_.error) return Answer<void>(std::move(done), tl::unexpected(*play_.error));
  for (const std::string& name : names) {
    const auto found = machines_.find(KeyOf(pool, name));
    if (found == machines_.end() || found->second.ended) continue;
    if (std::exchange(found->second.ending, true)) continue;
    loop_.After(play_.ending, [this, alive = std::weak_ptr<char>(alive_), key = found->first] {
      if (!alive.expired()) Over(key);
    });
  }
  Answer<void>(std::move(done), {});
}

void FakeProvider::Kill(const PoolSettings& pool, const std::string& name) {
  Over(KeyOf(pool, name));
}

void FakeProvider::Over(const Key& key) {
  const auto found = machines_.find(key);
  if (found == machines_.end() || found->second.ended) return;
  found->second.ended = clock_();
  found->second.forgotten = play_.is_forgotten();
  bill_.push_back({key.pool, key.name, found->second.since, *found->second.ended});
  if (play_.on_over) play_.on_over(key.pool, key.name);
}

void FakeProvider::List(const PoolSettings& pool,
                        std::function<void(Result<std::vector<ListedAt>>)> done) {
  if (play_.error) {
    return Answer<std::vector<ListedAt>>(std::move(done), tl::unexpected(*play_.error));
  }
  const TimePoint now = clock_();
  const TimePoint seen = now - play_.listing_late;
  std::vector<ListedAt> listed;
  for (const auto& [key, machine] : machines_) {
    if (key.project != pool.pool.project || key.pool != pool.pool.name) continue;
    if (machine.since > seen || machine.forgotten) continue;
    std::optional<TimePoint> ended = machine.ended;
    if (ended && *ended > seen) ended.reset();
    if (ended && now - *ended > kEndedListed) continue;
    listed.push_back({key.name, machine.since, ended});
  }
  Answer<std::vector<ListedAt>>(std::move(done), std::move(listed));
}

}  // namespace tidemill
