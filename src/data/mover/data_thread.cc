// SPDX-License-Identifier: Apache-2.0
#include "data/mover/data_thread.h"

#include <string_view>
#include <utility>

#include "base/random.h"
#include "data/mover/cache.h"
#include "data/mover/checkpoints.h"
#include "data/mover/mover.h"
#include "net/loop_thread.h"
#include "net/thread_pool.h"
#include "objects/open.h"

namespace tidemill {

namespace {

// Its parts are none of "." and "..": the store refuses those.
bool IsBelow(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

Result<void> CheckFile(std::string_view url, const std::vector<std::string>& folders) {
  constexpr std::string_view kFile = "file://";
  if (!url.starts_with(kFile)) return {};
  const std::string_view path = url.substr(kFile.size());
  for (const std::string& folder : folders) {
    if (IsBelow(path, folder)) return {};
  }
  return Fail(Code::kForbidden,
              "this machine's agent was not started with --files for a folder above it");
}

}  // namespace

// All of it but Post belongs to the thread.
struct DataThread::Inner {
  Inner(Options options, std::weak_ptr<const void> earlier)
      : world(std::move(options.world)),
        files(std::move(options.files)),
        disk(thread.loop(), 2),
        stores({thread.loop(), disk, random, world}),
        mover(options.root, [this](std::string_view url) { return Find(url); }),
        cache(disk, [this](std::string_view url) { return Find(url); },
              {options.root + "/cache", options.cache_bytes, std::move(earlier)}),
        checkpoints(options.root, [this](std::string_view url) { return FindOwn(url); }),
        places(std::move(options.root)) {
    thread.Start();
    Post([this] { cache.Scan(); });
  }
  ~Inner() { thread.Stop(); }

  Result<FoundObject> Find(std::string_view url) {
    TIDEMILL_TRY_VOID(CheckFile(url, files));
    return FindOwn(url);
  }
  // The servers' own store: no job names it, so it may be any file.
  Result<FoundObject> FindOwn(std::string_view url) {
    TIDEMILL_TRY(ObjectStores::Place place, stores.Find(url));
    return FoundObject{place.store, std::move(place.key)};
  }
  void Fetch(const DataPlace& place, const DataWork& work, ItemData::Done<void> done) {
    mover.Fetch(place, work, [this, place, work, done = std::move(done)](Result<void> fetched) {
      if (!fetched || !work.checkpoint) return done(std::move(fetched));
      checkpoints.Restore(place, *work.checkpoint, done);
    });
  }
  void Forget(const DataPlace& place) {
    checkpoints.Forget(place);
    mover.Forget(place);
  }
  void Post(std::function<void()> call) { thread.loop().Post(std::move(call)); }

  LoopThread thread;
  SystemRandom random;
  const CloudWorld world;
  const std::vector<std::string> files;
  ThreadPool disk;
  ObjectStores stores;
  DataMover mover;
  DataCache cache;
  Checkpoints checkpoints;
  const DataPlaces places;  // constant: any thread
};

DataThread::DataThread(AsioLoop& loop, Options options)
    : loop_(loop), inner_(std::make_unique<Inner>(std::move(options), earlier_)) {}

DataThread::~DataThread() = default;

template <typename T, typename Call>
void DataThread::Do(ItemData::Done<T> done, Call call) {
  auto back = [&loop = loop_, alive = std::weak_ptr<char>(alive_),
               done = std::move(done)](Result<T> result) {
    loop.Post([alive, done, result = std::move(result)] {
      if (!alive.expired()) done(result);
    });
  };
  inner_->Post(
      [call = std::move(call), back = std::move(back)]() mutable { call(std::move(back)); });
}

// There from now on, as far as the disk lets it: an error shows when something is fetched, or when
// a container is opened with them.
DataFolders DataThread::FoldersOf(JobId job) {
  (void)inner_->places.MakeJob(job);
  return inner_->places.FoldersOf(job);
}

void DataThread::Fetch(const DataPlace& place, DataWork work, ItemData::Done<void> done) {
  Do<void>(std::move(done), [inner = inner_.get(), place, work = std::move(work)](auto back) {
    inner->Fetch(place, work, std::move(back));
  });
}

void DataThread::Store(const DataPlace& place, DataWork work, OutputOwner owner,
                       ItemData::Done<void> done) {
  Do<void>(std::move(done),
           [inner = inner_.get(), place, work = std::move(work), owner = std::move(owner)](
               auto back) { inner->mover.Store(place, work, owner, std::move(back)); });
}

void DataThread::Exist(DataWork work, ItemData::Done<bool> done) {
  Do<bool>(std::move(done), [inner = inner_.get(), work = std::move(work)](auto back) {
    inner->mover.Exist(work, std::move(back));
  });
}

void DataThread::Save(const DataPlace& place, CheckpointWork work, ItemData::Done<void> done) {
  Do<void>(std::move(done), [inner = inner_.get(), place, work = std::move(work)](auto back) {
    inner->checkpoints.Save(place, work, std::move(back));
  });
}

void DataThread::DropSaves(const DataPlace& place, CheckpointWork work) {
  inner_->Post([inner = inner_.get(), place, work = std::move(work)] {
    inner->checkpoints.DropSaves(place, work);
  });
}

void DataThread::Forget(const DataPlace& place) {
  inner_->Post([inner = inner_.get(), place] { inner->Forget(place); });
}

void DataThread::KeepOnly(Left left) {
  inner_->Post([inner = inner_.get(), left = std::move(left)] { inner->mover.KeepOnly(left); });
}

void DataThread::Get(const std::string& project, std::vector<CacheUse> uses,
                     JobCache::Done<Held> done) {
  Do<Held>(std::move(done), [inner = inner_.get(), project, uses = std::move(uses)](auto back) {
    inner->cache.Get(project, uses, std::move(back));
  });
}

std::int64_t DataThread::held_bytes() const { return inner_->mover.held_bytes(); }

}  // namespace tidemill
