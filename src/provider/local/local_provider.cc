// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_provider.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "provider/local/pool_folder.h"

namespace tidemill {
namespace {

constexpr Duration kTryEvery = std::chrono::milliseconds(5);

// Agents run in folders of their own.
std::shared_ptr<const LocalOptions> Absolute(LocalOptions options) {
  std::error_code error;
  for (std::filesystem::path* path : {&options.folder, &options.agent_program}) {
    if (!path->empty()) *path = std::filesystem::absolute(*path, error);
  }
  if (!options.ca.empty()) options.ca = std::filesystem::absolute(options.ca, error).string();
  return std::make_shared<const LocalOptions>(std::move(options));
}

}  // namespace

LocalProvider::LocalProvider(Loop& loop, Worker& worker, LocalOptions options)
    : loop_(loop), worker_(worker), options_(Absolute(std::move(options))) {}

template <typename T>
void LocalProvider::Run(Call<T> call) {
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  const auto alive = std::weak_ptr<char>(alive_);
  auto work = [answer, options = options_, work = call.work] { *answer = work(*options); };
  worker_.Run(std::move(work), [this, alive, answer, call = std::move(call)] {
    if (alive.expired()) return;
    Result<T>& given = **answer;
    const bool is_held = !given && given.error().code == Code::kConflict;
    if (!is_held) return call.done(std::move(given));
    if (loop_.Now() >= call.until) return call.done(Fail(Code::kUnavailable, given.error().reason));
    loop_.After(kTryEvery, [this, alive, call] {
      if (!alive.expired()) Run(call);
    });
  });
}

// A machine's options are read when it is made, and its folder is made with it.
void LocalProvider::Prepare(const PoolSettings& /*pool*/, std::function<void(Result<void>)> done) {
  Run<void>({[](const LocalOptions&) { return Result<void>(); }, std::move(done), loop_.Now()});
}

void LocalProvider::Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) {
  Prepare(pool, std::move(done));
}

void LocalProvider::Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
                         std::function<void(Result<Refused>)> done) {
  Run<Refused>(
      {[pool, machines = std::move(machines)](const LocalOptions& options) -> Result<Refused> {
         TIDEMILL_TRY(std::optional<PoolFolder> folder, PoolFolder::Open(options, pool, true));
         return folder->Make(pool, machines);
       },
       std::move(done), loop_.Now() + options_->lock_limit});
}

void LocalProvider::End(const PoolSettings& pool, std::vector<std::string> names,
                        std::function<void(Result<void>)> done) {
  Run<void>({[pool, names = std::move(names)](const LocalOptions& options) -> Result<void> {
               TIDEMILL_TRY(std::optional<PoolFolder> folder,
                            PoolFolder::Open(options, pool, false));
               return folder ? folder->End(names) : Result<void>();
             },
             std::move(done), loop_.Now() + options_->lock_limit});
}

void LocalProvider::List(const PoolSettings& pool,
                         std::function<void(Result<std::vector<ListedAt>>)> done) {
  Run<std::vector<ListedAt>>({[pool](const LocalOptions& options) -> Result<std::vector<ListedAt>> {
                                TIDEMILL_TRY(std::optional<PoolFolder> folder,
                                             PoolFolder::Open(options, pool, false));
                                if (!folder) return std::vector<ListedAt>();
                                Result<std::vector<ListedAt>> listed = folder->List();
                                folder->Close();
                                return listed;
                              },
                              std::move(done), loop_.Now() + options_->lock_limit});
}

}  // namespace tidemill
