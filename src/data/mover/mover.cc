// SPDX-License-Identifier: Apache-2.0
#include "data/mover/mover.h"

#include <utility>
#include <vector>

#include "base/several.h"
#include "data/mover/output_files.h"
#include "data/mover/put_owned.h"
#include "wire/output_json.h"

namespace tidemill {

struct DataMover::Fetching {
  DataPlace place;
  DataWork work;
  std::vector<RemoteFile> files = {};
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

DataMover::DataMover(std::string root, FindObject find)
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
        List(fetching, fetching->work.inputs[i], std::move(listed));
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

void DataMover::List(const std::shared_ptr<Fetching>& fetching, const DataInput& input,
                     Done<void> done) {
  const std::string path = PathOf(fetching->folders, fetching->place, input);
  if (!input.url.ends_with('/')) {
    fetching->files.push_back({input.url, path});
    return done({});
  }
  ListRemote(find_, input.url, path,
             [fetching, done = std::move(done)](Result<std::vector<RemoteFile>> files) {
               if (!files) return done(tl::unexpected(std::move(files).error()));
               std::vector<RemoteFile>& all = fetching->files;
               all.insert(all.end(), files->begin(), files->end());
               done({});
             });
}

void DataMover::Download(const std::shared_ptr<Fetching>& fetching, const RemoteFile& file,
                         Done<void> done) {
  const auto on_bytes = [fetching, held = held_](std::int64_t bytes) -> Result<void> {
    if (fetching->over) return Fail(Code::kLost, "nobody wants it any more");
    fetching->bytes += bytes;
    *held += bytes;
    return {};
  };
  if (auto wanted = on_bytes(0); !wanted) return done(std::move(wanted));
  FetchRemote(find_, file, on_bytes, [done = std::move(done)](const Result<ObjectInfo>& got) {
    if (!got) return done(tl::unexpected(got.error()));
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
  if (!found) return done(tl::unexpected(NamedError(output.url, std::move(found).error())));
  ObjectStore& store = *found->store;
  const bool is_file = output.kind == DataOutput::Kind::kFile;
  const std::string folder = found->key + (is_file ? "" : storing->owner.attempt + "/");
  const auto list = std::make_shared<const std::vector<OutputFile>>(*std::move(files));
  const auto put = [storing, &store, folder, list, is_file](std::size_t i, Several::Done stored) {
    const OutputFile& file = (*list)[i];
    auto fd = OpenOutput(storing->folder, file);
    if (!fd) return stored(tl::unexpected(std::move(fd).error()));
    ObjectBody body = FileBody(std::make_shared<const Fd>(*std::move(fd)), file.size_bytes);
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
  if (!found) return done(tl::unexpected(NamedError(output.url, std::move(found).error())));
  PutOwned owned{.key = found->key.append(kPointerName), .body = BodyOf(std::move(text))};
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
