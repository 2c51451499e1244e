// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "objects/object_store.h"

// Objects that become files of this machine. Blocks for the disk. One thread at a time.
namespace tidemill {

struct FoundObject {
  ObjectStore* store = nullptr;
  std::string key = {};
};
// The store of a URL, which outlives whoever asks, and the key in it.
using FindObject = std::function<Result<FoundObject>(std::string_view url)>;

struct RemoteFile {
  std::string url = {};
  std::string path = {};  // where it is to be
  // As a listing has it; of an object that was not listed, nothing is known.
  std::int64_t size_bytes = 0;
  std::string tag = {};
};

// Of a folder that is fetched whole.
inline constexpr std::size_t kRemoteFilesMost = 100'000;
// Of one folder; others are under way beside it.
inline constexpr std::size_t kFilesAtOnce = 8;

// All objects below a URL that ends with a slash, as files below `path`. kNotFound: there are none.
// kInvalid: there are too many, or no file can have the name of one.
void ListRemote(const FindObject& find, const std::string& url, const std::string& path,
                std::function<void(Result<std::vector<RemoteFile>>)> done);

// Writes an object to its path, where nothing may be yet; folders above it are made. `on_bytes` is
// told how many have been written, each time, and its error ends the whole.
void FetchRemote(const FindObject& find, const RemoteFile& file,
                 std::function<Result<void>(std::int64_t)> on_bytes,
                 std::function<void(Result<ObjectInfo>)> done);

// What a file has from its beginning. kInvalid, when it is read: it has become shorter.
ObjectBody FileBody(const std::shared_ptr<const Fd>& file, std::int64_t size_bytes);

// The reason begins with the URL.
Error NamedError(const std::string& url, Error error);

}  // namespace tidemill
