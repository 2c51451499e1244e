// SPDX-License-Identifier: Apache-2.0
#include "data/mover/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/fd.h"
#include "base/remove_tree.h"
#include "base/several.h"
#include "data/mover/cache_room.h"
#include "data/mover/places.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

constexpr const char* kData = "/data";
constexpr const char* kPart = ".part";
constexpr const char* kViews = "views";
// Of one job; each may be a large thing.
constexpr std::size_t kUsesAtOnce = 2;

std::string HashOf(std::string_view text) { return Hex(Sha256(text)); }

bool IsHash(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// Of the URL, and of what the store says to be there.
std::string KeyOf(const std::string& project, const std::string& url,
                  const std::vector<RemoteFile>& files) {
  std::string text = url;
  for (const RemoteFile& file : files) {
    text += "\n" + file.url + "\n" + file.tag + "\n" + std::to_string(file.size_bytes);
  }
  return project + "/" + HashOf(text);
}

std::int64_t BytesIn(const std::string& path) {
  std::int64_t bytes = 0;
  std::error_code error;
  if (fs::is_regular_file(path, error))
    return static_cast<std::int64_t>(fs::file_size(path, error));
  for (fs::recursive_directory_iterator walk(path, error), end; !error && walk != end;
       walk.increment(error)) {
    std::error_code unread;
    if (walk->is_regular_file(unread)) bytes += static_cast<std::int64_t>(walk->file_size(unread));
  }
  return bytes;
}

std::int64_t FreeAt(const std::string& path) {
  struct statvfs disk{};
  if (statvfs(path.c_str(), &disk) != 0) return 0;
  return static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    names.push_back(each->path().filename().string());
  }
  return names;
}

// All of it is on the disk before it has its name. Any thread.
Result<void> GiveName(const std::string& part, const std::string& path) {
  const Fd fd(open(part.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || syncfs(fd.get()) != 0) return DiskError(part, errno);
  if (rename(part.c_str(), path.c_str()) != 0) return DiskError(path, errno);
  return {};
}

// A view whose links lead nowhere any more.
bool IsBroken(const std::string& view) {
  for (const std::string& name : NamesIn(view)) {
    std::error_code error;
    if (!fs::exists(view + "/" + name, error)) return true;
  }
  return false;
}

}  // namespace

DataCache::DataCache(Worker& worker, FindObject find, Options options)
    : worker_(worker), find_(std::move(find)), options_(std::move(options)) {}

void DataCache::Scan() {
  std::error_code made;
  fs::create_directories(options_.root, made);
  struct Found {
    fs::file_time_type used;
    std::string key;
  };
  std::vector<Found> found;
  for (const std::string& project : NamesIn(options_.root)) {
    if (project == kViews) continue;
    if (!IsHash(project)) RemoveTree(FolderOf(project));
    for (const std::string& name : NamesIn(FolderOf(project))) {
      const std::string key = project + "/" + name;
      std::error_code error;
      if (IsHash(name)) {
        found.push_back({fs::last_write_time(FolderOf(key), error), key});
      } else {
        RemoveTree(FolderOf(key));
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.used < b.used; });
  for (const Found& each : found) {
    const std::string path = FolderOf(each.key) + kData;
    entries_[each.key] = {std::make_shared<const std::string>(path), BytesIn(path), ++clock_, true};
  }
  std::int64_t held = 0;
  for (const auto& [key, entry] : entries_) held += entry.bytes;
  budget_ = options_.budget_bytes > 0 ? options_.budget_bytes : (FreeAt(options_.root) + held) / 2;
  const std::string views = FolderOf(kViews);
  for (const std::string& view : NamesIn(views)) {
    if (IsBroken(views + "/" + view)) RemoveTree(views + "/" + view);
  }
}

void DataCache::Get(const std::string& project, const std::vector<CacheUse>& uses,
                    Done<JobCache::Held> done) {
  const auto paths = std::make_shared<std::vector<Path>>(uses.size());
  const auto all = std::make_shared<const std::vector<CacheUse>>(uses);
  Several::Run(
      uses.size(), kUsesAtOnce,
      [this, project = HashOf(project), all, paths](std::size_t i, Several::Done got) {
        GetOne(project, (*all)[i].url, [i, paths, got = std::move(got)](const Result<Path>& path) {
          if (!path) return got(tl::unexpected(path.error()));
          (*paths)[i] = *path;
          got({});
        });
      },
      [this, all, paths, done = std::move(done)](const Result<void>& got) {
        if (!got) return done(tl::unexpected(got.error()));
        done(ViewOf(*all, *paths));
      });
}

void DataCache::GetOne(const std::string& project, const std::string& url, Done<Path> done) {
  Asking& asked = under_way_[project + url];
  const bool is_first = asked == nullptr;
  if (is_first) {
    asked = std::make_shared<Asked>();
    asked->project = project;
    asked->url = url;
  }
  asked->waiting.push_back(std::move(done));
  if (!is_first) return;
  const Asking mine = asked;
  Look(mine, [this, mine](auto files) { OnLooked(mine, std::move(files)); });
}

void DataCache::Look(const Asking& asked, Done<std::vector<RemoteFile>> done) {
  const std::string& url = asked->url;
  if (url.ends_with('/')) return ListRemote(find_, url, "", std::move(done));
  auto found = find_(url);
  if (!found) return done(tl::unexpected(NamedError(url, std::move(found).error())));
  found->store->Head(found->key, [url, done = std::move(done)](Result<ObjectInfo> info) {
    if (!info) return done(tl::unexpected(NamedError(url, std::move(info).error())));
    done(std::vector<RemoteFile>{{url, "", info->size_bytes, info->tag}});
  });
}

void DataCache::OnLooked(const Asking& asked, Result<std::vector<RemoteFile>> files) {
  if (!files) return Settle(asked, tl::unexpected(std::move(files).error()));
  asked->files = *std::move(files);
  asked->key = KeyOf(asked->project, asked->url, asked->files);
  if (const auto found = entries_.find(asked->key); found != entries_.end()) {
    found->second.used = ++clock_;
    // So that it counts as used after a restart too.
    worker_.Run(
        [folder = FolderOf(asked->key)] { utimensat(AT_FDCWD, folder.c_str(), nullptr, 0); },
        [] {});
    return Settle(asked, found->second.path);
  }
  std::int64_t bytes = 0;
  for (const RemoteFile& file : asked->files) bytes += file.size_bytes;
  if (auto room = MakeRoom(asked->url, bytes); !room) {
    return Settle(asked, tl::unexpected(std::move(room).error()));
  }
  reserved_ += asked->bytes = bytes;
  Fetch(asked);
}

Result<void> DataCache::MakeRoom(const std::string& url, std::int64_t bytes) {
  const std::string sizes = url + ": it has " + std::to_string(bytes) +
                            " bytes, and this machine keeps " + std::to_string(budget_) +
                            " for caches";
  if (bytes > budget_) return Fail(Code::kInvalid, sizes);
  std::vector<CacheItem> items;
  for (const auto& [key, entry] : entries_) {
    const bool may_be_old = entry.earlier && !options_.earlier.expired();
    items.push_back({key, entry.bytes, entry.used, may_be_old || entry.path.use_count() > 1});
  }
  const auto gone = MakeCacheRoom(std::move(items), bytes, budget_ - reserved_);
  if (!gone) return Fail(Code::kUnavailable, sizes + ", which others use now");
  for (const std::string& key : *gone) Remove(key);
  return {};
}

// The name is free at once; the rest takes its time.
void DataCache::Remove(const std::string& key) {
  const std::string gone = FolderOf("gone-" + std::to_string(++gone_));
  rename(FolderOf(key).c_str(), gone.c_str());
  worker_.Run([gone] { RemoveTree(gone); }, [] {});
  entries_.erase(key);
}

void DataCache::Fetch(const Asking& asked) {
  const std::string part = FolderOf(asked->key) + kPart;
  std::error_code error;
  fs::create_directories(part, error);
  if (error) return Settle(asked, DiskError(part, error.value()));
  const std::string top = part + kData;
  for (RemoteFile& file : asked->files) {
    file.path = top;
    // Names were checked when they were listed.
    if (asked->url.ends_with('/')) file.path += "/" + file.url.substr(asked->url.size());
  }
  const auto one = [this, asked](std::size_t i, Several::Done got) {
    FetchRemote(
        find_, asked->files[i], [](std::int64_t) { return Result<void>(); },
        [got = std::move(got)](const Result<ObjectInfo>& info) {
          if (!info) return got(tl::unexpected(info.error()));
          got({});
        });
  };
  Several::Run(asked->files.size(), kFilesAtOnce, one, [this, asked](const Result<void>& fetched) {
    if (!fetched) return Settle(asked, tl::unexpected(fetched.error()));
    LookAgain(asked);
  });
}

void DataCache::LookAgain(const Asking& asked) {
  Look(asked, [this, asked](Result<std::vector<RemoteFile>> files) {
    if (!files) return Settle(asked, tl::unexpected(std::move(files).error()));
    if (KeyOf(asked->project, asked->url, *files) == asked->key) return Keep(asked);
    Settle(asked, Fail(Code::kUnavailable, asked->url + ": it changed while it was fetched"));
  });
}

void DataCache::Keep(const Asking& asked) {
  const std::string folder = FolderOf(asked->key);
  const auto named = std::make_shared<Result<void>>();
  worker_.Run([folder, named] { *named = GiveName(folder + kPart, folder); },
              [this, asked, folder, named] {
                if (!*named) return Settle(asked, tl::unexpected(named->error()));
                const Path path = std::make_shared<const std::string>(folder + kData);
                entries_[asked->key] = {path, asked->bytes, ++clock_};
                Settle(asked, path);
              });
}

void DataCache::Settle(const Asking& asked, const Result<Path>& path) {
  reserved_ -= std::exchange(asked->bytes, 0);
  if (!path && !asked->key.empty()) RemoveTree(FolderOf(asked->key) + kPart);
  under_way_.erase(asked->project + asked->url);
  for (const Done<Path>& done : std::exchange(asked->waiting, {})) done(path);
}

// Its name is a hash of what it has, so it never changes.
Result<JobCache::Held> DataCache::ViewOf(const std::vector<CacheUse>& uses,
                                         std::vector<Path> paths) const {
  JobCache::View view;
  std::string text;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    view.paths[uses[i].name] = *paths[i];
    text += uses[i].name + "\n" + *paths[i] + "\n";
  }
  view.entries = std::move(paths);
  view.folder = FolderOf(kViews) + "/" + HashOf(text);
  std::error_code error;
  fs::create_directories(view.folder, error);
  if (error) return DiskError(view.folder, error.value());
  for (const auto& [name, path] : view.paths) {
    const std::string link = view.folder + "/" + name;
    if (symlink(path.c_str(), link.c_str()) != 0 && errno != EEXIST) return DiskError(link, errno);
  }
  return std::make_shared<const JobCache::View>(std::move(view));
}

}  // namespace tidemill
