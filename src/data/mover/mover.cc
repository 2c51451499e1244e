// SPDX-License-Identifier: Apache-2.0
#include "data/mover/mover.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/several.h"
#include "data/mover/output_files.h"
#include "data/mover/put_owned.h"
#include "wire/output_json.h"

namespace tidemill {
namespace {

// Of one attempt; many attempts are under way beside it.
constexpr std::size_t kFilesAtOnce = 8;
// Of a folder that is an input.
constexpr std::size_t kInputFilesMost = 100'000;

Error Named(const std::string& url, Error error) {
  error.reason = url + ": " + error.reason;
  return error;
}

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

ObjectBody BodyOf(const std::shared_ptr<const Fd>& file, std::int64_t size_bytes) {
  ObjectBody body;
  body.size_bytes = size_bytes;
  body.read = [file](std::int64_t offset, std::size_t size) -> Result<std::string> {
    std::string bytes(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const ssize_t more = pread(file->get(), bytes.data() + got, size - got,
                                 offset + static_cast<std::int64_t>(got));
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0) {
        return Fail(Code::kInvalid, more == 0 ? "an output has become shorter"
                                              : "an output: " + std::string(std::strerror(errno)));
      }
      got += static_cast<std::size_t>(more);
    }
    return bytes;
  };
  return body;
}

}  // namespace

struct DataMover::Fetching {
  DataPlace place;
  DataWork work;
  std::vector<Wanted> files = {};
  DataFolders folders = {};
  std::int64_t bytes = 0;  // on the disk so far
  bool over = false;       // nobody wants it any more
};

struct DataMover::Storing {
  DataPlace place;
  DataWork work;
  OutputOwner owner;
  std::string folder = {};
};

DataMover::DataMover(std::string root, Find find)
    : places_(std::move(root)),
      find_(std::move(find)),
      held_(std::make_shared<std::atomic<std::int64_t>>(0)) {}

// --- inputs ---

void DataMover::Fetch(const DataPlace& place, DataWork work, Done<void> done) {
  Forget(place);
  if (auto made = places_.Make(place, work); !made) return done(std::move(made));
  auto fetching = std::make_shared<Fetching>();
  fetching->place = place;
  fetching->work = std::move(work);
  fetching->folders = places_.FoldersOf(place.job);
  fetched_[place] = fetching;
  Several::Run(
      fetching->work.inputs.size(), kFilesAtOnce,
      [this, fetching](std::size_t i, Several::Done listed) {
        List(fetching, i, "", std::move(listed));
      },
      [this, fetching, done = std::move(done)](Result<void> listed) {
        if (!listed) return done(std::move(listed));
        Several::Run(
            fetching->files.size(), kFilesAtOnce,
            [this, fetching](std::size_t i, Several::Done got) {
              Download(fetching, fetching->files[i], std::move(got));
            },
            done);
      });
}

// Finds the objects of an input, page by page.
void DataMover::List(std::shared_ptr<Fetching> fetching, std::size_t input, std::string next,
                     Done<void> done) {
  const DataInput& asked = fetching->work.inputs[input];
  const std::string path = PathOf(fetching->folders, fetching->place, asked);
  if (!asked.url.ends_with('/')) {
    fetching->files.push_back({asked.url, path});
    return done({});
  }
  auto found = find_(asked.url);
  if (!found) return done(tl::unexpected(Named(asked.url, std::move(found).error())));
  ListOptions options;
  options.prefix = found->key;
  options.next = std::move(next);
  const std::size_t prefix = options.prefix.size();
  found->store->List(options, [this, fetching, input, path, prefix,
                               done = std::move(done)](Result<ListPage> page) {
    const DataInput& folder = fetching->work.inputs[input];
    if (!page) return done(tl::unexpected(Named(folder.url, std::move(page).error())));
    for (const ObjectInfo& object : page->objects) {
      const std::string name = object.key.substr(prefix);
      if (name.empty() || name.ends_with('/')) continue;  // a marker of the folder itself
      if (auto good = FilePathBelow(path, name)) {
        fetching->files.push_back({folder.url + name, *std::move(good)});
      } else {
        return done(tl::unexpected(Named(folder.url + name, std::move(good).error())));
      }
    }
    if (fetching->files.size() > kInputFilesMost) {
      return done(Fail(Code::kInvalid, folder.url + ": has more than " +
                                           std::to_string(kInputFilesMost) + " objects"));
    }
    if (!page->next.empty()) return List(fetching, input, page->next, done);
    if (fetching->files.empty()) {
      return done(Fail(Code::kNotFound, folder.url + ": there is nothing below it"));
    }
    done({});
  });
}

void DataMover::Download(std::shared_ptr<Fetching> fetching, const Wanted& wanted,
                         Done<void> done) {
  if (fetching->over) return done(Fail(Code::kLost, "nobody wants it any more"));
  auto found = find_(wanted.url);
  if (!found) return done(tl::unexpected(Named(wanted.url, std::move(found).error())));
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(wanted.path).parent_path(), error);
  const auto file = std::make_shared<Fd>(
      open(wanted.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!*file) return done(DiskError(wanted.path, errno));
  found->store->Get(
      found->key, {},
      [fetching, file, path = wanted.path, held = held_](std::string_view bytes) -> Result<void> {
        if (fetching->over) return Fail(Code::kLost, "nobody wants it any more");
        TIDEMILL_TRY_VOID(WriteAll(file->get(), path, bytes));
        fetching->bytes += std::ssize(bytes);
        *held += std::ssize(bytes);
        return {};
      },
      [url = wanted.url, file, done = std::move(done)](Result<ObjectInfo> got) {
        if (!got) return done(tl::unexpected(Named(url, std::move(got).error())));
        done({});
      });
}

void DataMover::Forget(const DataPlace& place) {
  if (const auto found = fetched_.find(place); found != fetched_.end()) {
    found->second->over = true;
    *held_ -= found->second->bytes;
    fetched_.erase(found);
  }
  places_.Remove(place);
}

// --- outputs ---

void DataMover::Store(const DataPlace& place, DataWork work, OutputOwner owner, Done<void> done) {
  auto storing = std::make_shared<Storing>();
  storing->place = place;
  storing->work = std::move(work);
  storing->owner = std::move(owner);
  auto folder = places_.TakeOutputs(place);
  if (!folder) return done(tl::unexpected(std::move(folder).error()));
  storing->folder = *std::move(folder);
  Several::Run(
      storing->work.outputs.size(), 1,
      [this, storing](std::size_t i, Several::Done stored) {
        StoreOutput(storing, i, std::move(stored));
      },
      std::move(done));
}

void DataMover::StoreOutput(std::shared_ptr<Storing> storing, std::size_t number, Done<void> done) {
  const DataOutput& output = storing->work.outputs[number];
  auto files = FindOutput(storing->folder, output);
  if (!files) return done(tl::unexpected(std::move(files).error()));
  auto found = find_(output.url);
  if (!found) return done(tl::unexpected(Named(output.url, std::move(found).error())));
  ObjectStore& store = *found->store;
  const bool is_file = output.kind == DataOutput::Kind::kFile;
  const std::string folder = found->key + (is_file ? "" : storing->owner.attempt + "/");
  const auto list = std::make_shared<const std::vector<OutputFile>>(*std::move(files));
  const auto put = [storing, &store, folder, list, is_file](std::size_t i, Several::Done stored) {
    const OutputFile& file = (*list)[i];
    auto fd = OpenOutput(storing->folder, file);
    if (!fd) return stored(tl::unexpected(std::move(fd).error()));
    ObjectBody body = BodyOf(std::make_shared<const Fd>(*std::move(fd)), file.size_bytes);
    // Of a folder nobody else has this name.
    if (!is_file) return store.Put(folder + file.name, std::move(body), {}, std::move(stored));
    PutOwned owned{.key = folder, .body = std::move(body), .owner = storing->owner};
    owned.exists = storing->work.exists;
    tidemill::Put(store, std::move(owned), std::move(stored));
  };
  Several::Run(
      list->size(), kFilesAtOnce, put,
      [this, storing, &output, list, is_file, done = std::move(done)](Result<void> stored) {
        if (!stored || is_file) return done(std::move(stored));
        std::vector<PointedFile> names;
        for (const OutputFile& file : *list) names.push_back({file.name, file.size_bytes});
        PutPointer(storing, output, FormatPointer(storing->owner, names), done);
      });
}

void DataMover::PutPointer(std::shared_ptr<Storing> storing, const DataOutput& output,
                           std::string text, Done<void> done) {
  auto found = find_(output.url);
  if (!found) return done(tl::unexpected(Named(output.url, std::move(found).error())));
  PutOwned owned{.key = found->key.append(kPointerName), .body = tidemill::BodyOf(std::move(text))};
  owned.content_type = "application/json";
  owned.owner = storing->owner;
  owned.exists = storing->work.exists;
  tidemill::Put(*found->store, std::move(owned), std::move(done));
}

void DataMover::Exist(DataWork work, Done<bool> done) {
  const auto shared = std::make_shared<const DataWork>(std::move(work));
  const auto head = [this, shared](std::size_t i, Several::Done there) {
    const DataOutput& output = shared->outputs[i];
    auto found = find_(output.url);
    if (!found) return there(tl::unexpected(std::move(found).error()));
    const bool is_file = output.kind == DataOutput::Kind::kFile;
    found->store->Head(is_file ? found->key : found->key.append(kPointerName),
                       [there = std::move(there)](Result<ObjectInfo> info) {
                         if (!info) return there(tl::unexpected(std::move(info).error()));
                         there({});
                       });
  };
  Several::Run(shared->outputs.size(), kFilesAtOnce, head,
               [done = std::move(done)](Result<void> all) {
                 if (all) return done(true);
                 if (all.error().code == Code::kNotFound) return done(false);
                 done(tl::unexpected(std::move(all).error()));
               });
}

}  // namespace tidemill
