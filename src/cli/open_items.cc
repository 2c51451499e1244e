// SPDX-License-Identifier: Apache-2.0
#include "cli/open_items.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "cli/gunzip.h"
#include "cli/table_items.h"
#include "submit/glob.h"

namespace tidemill::cli {
namespace {

Result<ByteRead> ReadLocal(const std::string& path) {
  Fd opened(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) {
    const Code code = errno == EACCES ? Code::kForbidden : Code::kNotFound;
    return Fail(code, "cannot open " + path + ": " + std::strerror(errno));
  }
  return ByteRead([fd = std::make_shared<Fd>(std::move(opened))](
                      char* to, std::size_t size) -> Result<std::size_t> {
    while (true) {
      const ssize_t got = ::read(fd->get(), to, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return Fail(Code::kInternal, std::strerror(errno));
    }
  });
}

bool TakeEnd(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

ByteRead Unpacked(ByteRead read, std::string_view& end_of, const std::string& name) {
  if (TakeEnd(end_of, ".gz")) {
    read = Gunzip(std::move(read));
  } else if (TakeEnd(end_of, ".zst")) {
    const auto zstd = std::make_shared<ZstdReader>(std::move(read));
    read = [zstd](char* to, std::size_t size) { return zstd->Read(to, size); };
  } else {
    return read;
  }
  return [read = std::move(read), name](char* to, std::size_t size) -> Result<std::size_t> {
    auto got = read(to, size);
    if (!got && got.error().code == Code::kInvalid) return While(name, got.error());
    return got;
  };
}

ByteRead AsLines(ByteRead read, std::string_view end_of, const std::string& name) {
  if (TakeEnd(end_of, ".csv")) return ReadCsvItems(std::move(read), name, ',');
  if (TakeEnd(end_of, ".tsv")) return ReadCsvItems(std::move(read), name, '\t');
  if (TakeEnd(end_of, ".jsonl") || TakeEnd(end_of, ".ndjson")) {
    return ReadJsonItems(std::move(read), name);
  }
  return read;
}

ByteRead WithPaths(ByteRead read, const std::string& name, const ItemPaths& paths) {
  if (!paths.map.empty()) read = MapItemPaths(std::move(read), name, paths.map);
  if (paths.uploader != nullptr) read = UploadItemPaths(std::move(read), name, *paths.uploader);
  return read;
}

}  // namespace

Result<OpenedItems> OpenItems(const std::string& where, const MakeStores& stores,
                              std::function<void(const ListState&)> progress,
                              const ItemPaths& paths) {
  const bool is_url = IsStoreUrl(where);
  if (is_url && Glob::IsPattern(where)) {
    TIDEMILL_TRY(ListedItems listed, ListStore(stores(), where, std::move(progress)));
    ByteRead read = WithPaths(std::move(listed.read), where, paths);
    return OpenedItems{ItemSource(std::move(read), where), std::move(listed.state)};
  }
  TIDEMILL_TRY(ByteRead read, is_url ? ReadStoreObject(stores(), where) : ReadLocal(where));
  const std::string name = where == "-" ? "standard input" : where;
  std::string_view end_of = where;
  read = Unpacked(std::move(read), end_of, name);
  read = AsLines(std::move(read), end_of, name);
  read = WithPaths(std::move(read), name, paths);
  return OpenedItems{ItemSource(std::move(read), name)};
}

}  // namespace tidemill::cli
