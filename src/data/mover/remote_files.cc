// SPDX-License-Identifier: Apache-2.0
#include "data/mover/remote_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/read_at.h"
#include "data/mover/places.h"

namespace tidemill {
namespace {

// What is left of a write that was cut short.
Result<void> WriteAll(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return DiskError(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

struct Listing {
  FindObject find;
  std::string url;
  std::string path;
  std::vector<RemoteFile> files = {};
  std::function<void(Result<std::vector<RemoteFile>>)> done;
};

Result<void> Add(Listing& listing, const ListPage& page, std::size_t prefix) {
  for (const ObjectInfo& object : page.objects) {
    const std::string name = object.key.substr(prefix);
    if (name.empty() || name.ends_with('/')) continue;  // a marker of the folder itself
    auto path = FilePathBelow(listing.path, name);
    if (!path) return tl::unexpected(NamedError(listing.url + name, std::move(path).error()));
    listing.files.push_back({listing.url + name, *std::move(path), object.size_bytes, object.tag});
  }
  if (listing.files.size() <= kRemoteFilesMost) return {};
  return Fail(Code::kInvalid,
              listing.url + ": has more than " + std::to_string(kRemoteFilesMost) + " objects");
}

// Page by page.
void Next(const std::shared_ptr<Listing>& listing, std::string next) {
  auto found = listing->find(listing->url);
  if (!found) {
    return listing->done(tl::unexpected(NamedError(listing->url, std::move(found).error())));
  }
  ListOptions options;
  options.prefix = found->key;
  options.next = std::move(next);
  const std::size_t prefix = options.prefix.size();
  found->store->List(options, [listing, prefix](Result<ListPage> page) {
    if (!page) {
      return listing->done(tl::unexpected(NamedError(listing->url, std::move(page).error())));
    }
    if (auto added = Add(*listing, *page, prefix); !added) {
      return listing->done(tl::unexpected(std::move(added).error()));
    }
    if (!page->next.empty()) return Next(listing, page->next);
    if (!listing->files.empty()) return listing->done(std::move(listing->files));
    listing->done(Fail(Code::kNotFound, listing->url + ": there is nothing below it"));
  });
}

}  // namespace

Error NamedError(const std::string& url, Error error) {
  error.reason = url + ": " + error.reason;
  return error;
}

void ListRemote(const FindObject& find, const std::string& url, const std::string& path,
                std::function<void(Result<std::vector<RemoteFile>>)> done) {
  auto listing = std::make_shared<Listing>();
  listing->find = find;
  listing->url = url;
  listing->path = path;
  listing->done = std::move(done);
  Next(listing, "");
}

void FetchRemote(const FindObject& find, const RemoteFile& remote,
                 std::function<Result<void>(std::int64_t)> on_bytes,
                 std::function<void(Result<ObjectInfo>)> done) {
  auto found = find(remote.url);
  if (!found) return done(tl::unexpected(NamedError(remote.url, std::move(found).error())));
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(remote.path).parent_path(), error);
  const auto file = std::make_shared<Fd>(
      open(remote.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!*file) return done(DiskError(remote.path, errno));
  found->store->Get(
      found->key, {},
      [file, path = remote.path,
       on_bytes = std::move(on_bytes)](std::string_view bytes) -> Result<void> {
        TIDEMILL_TRY_VOID(WriteAll(file->get(), path, bytes));
        return on_bytes(std::ssize(bytes));
      },
      [url = remote.url, file, done = std::move(done)](Result<ObjectInfo> got) {
        if (!got) return done(tl::unexpected(NamedError(url, std::move(got).error())));
        done(std::move(got));
      });
}

ObjectBody FileBody(const std::shared_ptr<const Fd>& file, std::int64_t size_bytes) {
  ObjectBody body;
  body.size_bytes = size_bytes;
  body.read = [file](std::int64_t offset, std::size_t size) -> Result<std::string> {
    std::string bytes(size, '\0');
    const std::int64_t got = ReadAt(file->get(), bytes.data(), size, offset);
    if (got < 0) return Fail(Code::kInvalid, "a file: " + std::string(std::strerror(errno)));
    if (got < std::ssize(bytes)) return Fail(Code::kInvalid, "a file has become shorter");
    return bytes;
  };
  return body;
}

}  // namespace tidemill
