// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/gcp_provider.h"

#include <utility>

#include "provider/gcp/make_machines.h"
#include "provider/gcp/prepare_group.h"
#include "wire/gcp_json.h"

namespace tidemill {

GcpProvider::GcpProvider(AsioLoop& loop, Random& random, CloudWorld world, GcpOptions options)
    : api_(loop, random, std::move(world), std::move(options)) {}
GcpProvider::~GcpProvider() = default;

template <typename T>
void GcpProvider::Answer(std::function<void(Result<T>)> done, Result<T> result) {
  api_.After(Duration::zero(),
             [done = std::move(done), result = std::move(result)] { done(result); });
}

Result<GroupWatch*> GcpProvider::WatchOf(const PoolSettings& pool) {
  TIDEMILL_TRY(const GcpPool said, ParseGcpPool(pool.machines.options));
  const std::string key = pool.pool.project + "/" + pool.pool.name + " " + said.project + "/" +
                          said.zone + "/" + said.group;
  std::unique_ptr<GroupWatch>& watch = watches_[key];
  if (watch == nullptr) {
    watch = std::make_unique<GroupWatch>(api_, GcpNames(pool.pool.project, pool.pool.name), said);
  }
  return watch.get();
}

void GcpProvider::Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) {
  auto said = ParseGcpPool(pool.machines.options);
  if (!said) return Answer<void>(std::move(done), tl::unexpected<Error>(said.error()));
  std::make_shared<PrepareGroup>(api_, pool, *std::move(said), std::move(done))->Start();
}

void GcpProvider::Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) {
  auto watch = WatchOf(pool);
  if (!watch) return Answer<void>(std::move(done), tl::unexpected<Error>(watch.error()));
  std::make_shared<RemoveGroup>(api_, **watch, std::move(done))->Start();
}

void GcpProvider::Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
                       std::function<void(Result<Refused>)> done) {
  auto watch = WatchOf(pool);
  if (!watch) return Answer<Refused>(std::move(done), tl::unexpected<Error>(watch.error()));
  std::vector<std::string> names;
  for (MachineOrder& order : machines) names.push_back(std::move(order.name));
  std::make_shared<MakeMachines>(api_, **watch, std::move(names), std::move(done))->Start();
}

void GcpProvider::End(const PoolSettings& pool, std::vector<std::string> names,
                      std::function<void(Result<void>)> done) {
  const auto watch = WatchOf(pool);
  if (!watch) return Answer<void>(std::move(done), tl::unexpected<Error>(watch.error()));
  std::vector<std::string> instances;
  for (const std::string& name : names) {
    if (const auto instance = (*watch)->names().InstanceOf(name)) instances.push_back(*instance);
  }
  if (instances.empty()) return Answer<void>(std::move(done), {});
  (*watch)->Begin();
  (*watch)->TakeOut(std::move(instances), api_.Now() + api_.options().limit,
                    [watch = *watch, done = std::move(done)](Result<void> ended) {
                      watch->End();
                      done(std::move(ended));
                    });
}

void GcpProvider::List(const PoolSettings& pool,
                       std::function<void(Result<std::vector<ListedAt>>)> done) {
  const auto watch = WatchOf(pool);
  if (!watch) {
    return Answer<std::vector<ListedAt>>(std::move(done), tl::unexpected<Error>(watch.error()));
  }
  (*watch)->Look([watch = *watch, done = std::move(done)](const Result<void>& looked) {
    if (!looked) return done(tl::unexpected<Error>(looked.error()));
    done(watch->Listed());
  });
}

}  // namespace tidemill
