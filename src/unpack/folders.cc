// SPDX-License-Identifier: Apache-2.0
#include "unpack/folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/digest.h"
#include "base/fd.h"
#include "unpack/unpack.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

bool IsSha256(const std::string& name) {
  return name.size() == 64 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::int64_t BytesIn(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator walk(folder, error);
       !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    std::error_code unread;
    if (!walk->is_symlink(unread) && walk->is_regular_file(unread)) {
      bytes += static_cast<std::int64_t>(walk->file_size(unread));
    }
  }
  return bytes;
}

ByteRead From(std::shared_ptr<const std::string> text) {
  return [text = std::move(text), at = std::size_t{0}](
             char* to, std::size_t size) mutable -> Result<std::size_t> {
    const std::size_t some = std::min(size, text->size() - at);
    std::memcpy(to, text->data() + at, some);
    at += some;
    return some;
  };
}

// Under a name that no archive has, then renamed. Any thread.
Result<std::int64_t> UnpackTo(const std::string& path, const std::string& sha256,
                              std::string packed, const UnpackLimits& limits) {
  if (Hex(Sha256(packed)) != sha256) {
    return Fail(Code::kInvalid, "what the store has is not what was stored");
  }
  const std::string part = path + ".part";
  RemoveUnpacked(part);
  std::error_code error;
  fs::create_directory(part, error);
  if (error) return Fail(Code::kUnavailable, part + ": " + error.message());
  auto bytes =
      UnpackTarZstd(From(std::make_shared<const std::string>(std::move(packed))), part, limits);
  if (bytes) {
    // After a power cut the name must not be there without what it names.
    const Fd fd(open(part.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd) syncfs(fd.get());
    fs::rename(part, path, error);
    if (error) bytes = Fail(Code::kUnavailable, path + ": " + error.message());
  }
  if (!bytes) RemoveUnpacked(part);
  return bytes;
}

}  // namespace

UnpackedFolders::UnpackedFolders(Worker& worker, Options options)
    : worker_(worker), options_(std::move(options)) {
  Scan();
}

void UnpackedFolders::Scan() {
  std::error_code error;
  fs::create_directories(options_.root, error);
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  for (fs::directory_iterator entry(options_.root, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unread;
    if (IsSha256(name)) {
      found.emplace_back(entry->last_write_time(unread), name);
    } else {
      RemoveUnpacked(entry->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  for (const auto& [time, name] : found) {
    kept_[name] = {std::make_shared<const std::string>(PathOf(name)), BytesIn(PathOf(name)),
                   ++clock_};
  }
  Evict();
}

void UnpackedFolders::Get(const std::string& sha256, const Fetch& fetch, Done done) {
  const std::weak_ptr<char> gone = alive_;
  if (const auto kept = kept_.find(sha256); kept != kept_.end()) {
    kept->second.used = ++clock_;
    const Folder path = kept->second.path;
    // So that it counts as used after a restart too.
    worker_.Run([path] { utimensat(AT_FDCWD, path->c_str(), nullptr, 0); },
                [gone, path, done = std::move(done)] {
                  if (!gone.expired()) done(path);
                });
    return;
  }
  std::vector<Done>& waiting = under_way_[sha256];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  const auto fail = [this, gone, sha256](const Error& error) {
    worker_.Run([] {},
                [this, gone, sha256, error] {
                  if (!gone.expired()) Settle(sha256, tl::unexpected<Error>(error));
                });
  };
  if (!IsSha256(sha256)) return fail({Code::kInvalid, "'" + sha256 + "' is not a SHA-256"});
  fetch([this, gone, sha256, fail](Result<std::string> packed) {
    if (gone.expired()) return;
    if (!packed) return fail(packed.error());
    Unpack(sha256, *std::move(packed));
  });
}

void UnpackedFolders::Unpack(const std::string& sha256, std::string packed) {
  const auto result = std::make_shared<Result<std::int64_t>>(0);
  worker_.Run(
      [result, path = PathOf(sha256), sha256, packed = std::move(packed),
       limits = options_.limits]() mutable {
        *result = UnpackTo(path, sha256, std::move(packed), limits);
      },
      [this, gone = std::weak_ptr<char>(alive_), result, sha256] {
        if (!gone.expired()) Settle(sha256, *result);
      });
}

void UnpackedFolders::Settle(const std::string& sha256, const Result<std::int64_t>& bytes) {
  Folder path;
  if (bytes) {
    path = std::make_shared<const std::string>(PathOf(sha256));
    kept_[sha256] = {path, *bytes, ++clock_};
  }
  const auto waiting = under_way_.extract(sha256);
  for (const Done& done : waiting.mapped()) {
    if (bytes) {
      done(path);
    } else {
      done(tl::unexpected<Error>(bytes.error()));
    }
  }
  path.reset();
  Evict();
}

void UnpackedFolders::Evict() {
  std::int64_t bytes = 0;
  for (const auto& [name, kept] : kept_) bytes += kept.bytes;
  while (kept_.size() > options_.kept || bytes > options_.kept_bytes) {
    auto oldest = kept_.end();
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      const bool is_free = kept->second.path.use_count() == 1;
      if (is_free && (oldest == kept_.end() || kept->second.used < oldest->second.used)) {
        oldest = kept;
      }
    }
    if (oldest == kept_.end()) return;
    // The name is free at once; the rest takes its time.
    const std::string gone = PathOf("gone-" + std::to_string(++gone_));
    std::error_code error;
    fs::rename(*oldest->second.path, gone, error);
    worker_.Run([gone] { RemoveUnpacked(gone); }, [] {});
    bytes -= oldest->second.bytes;
    kept_.erase(oldest);
  }
}

}  // namespace tidemill
