// SPDX-License-Identifier: Apache-2.0
#include "cli/upload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/fd.h"
#include "base/read_at.h"
#include "base/several.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

// Enough for small files to fill a line; large ones are sent in parts at once anyway.
constexpr std::size_t kAtOnce = 16;
constexpr std::size_t kUploadReadBytes = 1 << 20;

tl::unexpected<Error> Cannot(const std::string& path, int error) {
  const Code code = error == ENOENT ? Code::kNotFound : Code::kInvalid;
  return Fail(code, "cannot read " + path + ": " + std::strerror(error));
}

std::int64_t ChangedNs(const struct stat& found) {
  return found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
}

Result<std::string> ReadPiece(int fd, const std::string& path, std::int64_t offset,
                              std::size_t size) {
  std::string bytes(size, '\0');
  const std::int64_t got = ReadAt(fd, bytes.data(), size, offset);
  if (got < 0) return Cannot(path, errno);
  if (got < std::ssize(bytes)) return Fail(Code::kInvalid, path + " changed while it was sent");
  return bytes;
}

struct Opened {
  Fd fd;
  struct stat found = {};
};

Result<Opened> Open(const std::string& path) {
  Opened opened{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (!opened.fd) return Cannot(path, errno);
  if (::fstat(opened.fd.get(), &opened.found) != 0) return Cannot(path, errno);
  if (!S_ISREG(opened.found.st_mode)) return Fail(Code::kInvalid, path + " is no plain file");
  return opened;
}

Result<std::string> HashOf(const Opened& opened, const std::string& path) {
  Sha256Stream hash;
  std::int64_t at = 0;
  while (at < opened.found.st_size) {
    const auto some = std::min<std::int64_t>(opened.found.st_size - at, kUploadReadBytes);
    TIDEMILL_TRY(const std::string bytes,
                 ReadPiece(opened.fd.get(), path, at, static_cast<std::size_t>(some)));
    hash.Add(bytes);
    at += some;
  }
  return Hex(hash.Finish());
}

}  // namespace

Uploader::Uploader(Stores& stores, std::string url,
                   std::function<void(const UploadState&)> progress)
    : stores_(stores),
      url_(url.ends_with('/') ? std::move(url) : url + "/"),
      progress_(std::move(progress)) {}

Result<std::vector<std::string>> Uploader::Store(const std::vector<std::string>& paths) {
  std::vector<std::string> urls;
  std::vector<File> files;
  // The same file may be an item twice; two sendings at once would meet in the store.
  std::map<std::string, std::string> known;
  for (const std::string& path : paths) {
    auto [at, is_new] = known.try_emplace(path);
    if (is_new) {
      TIDEMILL_TRY(Copy copy, CopyOf(path));
      at->second = std::move(copy.url);
      std::move(copy.files.begin(), copy.files.end(), std::back_inserter(files));
    }
    urls.push_back(at->second);
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.key < b.key; });
  files.erase(std::unique(files.begin(), files.end(),
                          [](const File& a, const File& b) { return a.key == b.key; }),
              files.end());
  TIDEMILL_TRY_VOID(Send(files));
  return urls;
}

Result<Uploader::Copy> Uploader::CopyOf(const std::string& path) const {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return Cannot(path, errno);
  const std::string name = fs::path(path).lexically_normal().filename().string();
  if (S_ISDIR(found.st_mode)) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    const fs::path last = whole.has_filename() ? whole : whole.parent_path();
    return CopyOfFolder(path, last.filename().string());
  }
  TIDEMILL_TRY(const Opened opened, Open(path));
  TIDEMILL_TRY(const std::string sha256, HashOf(opened, path));
  const std::string key = sha256 + "/" + name;
  return Copy{url_ + key, {{path, key, sha256, opened.found.st_size, ChangedNs(opened.found)}}};
}

// Its hash is that of the names and hashes of its files.
Result<Uploader::Copy> Uploader::CopyOfFolder(const std::string& path,
                                              const std::string& name) const {
  Copy copy;
  std::error_code error;
  const fs::path root(path);
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error)) continue;
    TIDEMILL_TRY(Copy one, CopyOf(at->path().string()));
    one.files.front().key = at->path().lexically_relative(root).string();
    copy.files.push_back(std::move(one.files.front()));
    if (copy.files.size() > kFilesMost) {
      return Fail(Code::kInvalid, path + " has more than " + std::to_string(kFilesMost) +
                                      " files; pack them, or name the store's own folder");
    }
  }
  if (error) return Cannot(path, error.value());
  if (copy.files.empty()) return Fail(Code::kInvalid, path + " is an empty folder");
  std::sort(copy.files.begin(), copy.files.end(),
            [](const File& a, const File& b) { return a.key < b.key; });
  Sha256Stream hash;
  for (const File& file : copy.files) hash.Add(file.sha256 + " " + file.key + "\n");
  const std::string folder = Hex(hash.Finish()) + "/" + name + "/";
  for (File& file : copy.files) file.key.insert(0, folder);
  copy.url = url_ + folder;
  return copy;
}

Result<void> Uploader::Send(const std::vector<File>& files) {
  return stores_.Await<void>([this, &files](const Done& done) {
    Several::Run(
        files.size(), kAtOnce,
        [this, &files](std::size_t number, const Done& one) { SendOne(files[number], one); },
        // Never from inside, also with nothing to do.
        [this, done](Result<void> sent) {
          stores_.loop().Post([done, sent = std::move(sent)]() mutable { done(std::move(sent)); });
        });
  });
}

void Uploader::SendOne(const File& file, const Done& done) {
  auto place = stores_.Find(url_ + file.key);
  if (!place) return done(tl::unexpected(std::move(place).error()));
  const Done counted = [this, &file, done](Result<void> sent) {
    if (sent) {
      ++state_.files;
      state_.bytes += file.size_bytes;
      progress_(state_);
    }
    done(std::move(sent));
  };
  place->store->Head(place->key, [this, &file, counted](Result<ObjectInfo> there) {
    if (there && there->size_bytes == file.size_bytes) {
      ++state_.were_there;
      return counted({});
    }
    if (there || there.error().code == Code::kNotFound) return Put(file, counted);
    counted(tl::unexpected(std::move(there).error()));
  });
}

void Uploader::Put(const File& file, const Done& done) {
  auto place = stores_.Find(url_ + file.key);
  if (!place) return done(tl::unexpected(std::move(place).error()));
  auto opened = Open(file.path);
  if (!opened) return done(tl::unexpected(std::move(opened).error()));
  const auto fd = std::make_shared<Fd>(std::move(opened->fd));
  ObjectBody body{.size_bytes = file.size_bytes,
                  .read = [fd, path = file.path](std::int64_t offset, std::size_t size) {
                    return ReadPiece(fd->get(), path, offset, size);
                  }};
  place->store->Put(
      place->key, std::move(body), {}, [fd, &file, place = *place, done](Result<void> stored) {
        if (!stored) return done(std::move(stored));
        struct stat now = {};
        const bool same = ::fstat(fd->get(), &now) == 0 && now.st_size == file.size_bytes &&
                          ChangedNs(now) == file.changed_ns;
        if (same) return done({});
        // Its name says another content than it may have.
        place.store->Delete(place.key, [&file, done](const Result<void>&) {
          done(Fail(Code::kInvalid, file.path + " changed while it was sent"));
        });
      });
}

}  // namespace tidemill::cli
