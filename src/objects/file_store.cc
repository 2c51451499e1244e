// SPDX-License-Identifier: Apache-2.0
#include "objects/file_store.h"

#include <algorithm>
#include <utility>

#include "objects/file_disk.h"
#include "objects/file_list.h"

namespace tidemill {

struct FileStore::Impl : std::enable_shared_from_this<FileStore::Impl> {
  Impl(Loop& a_loop, Worker& a_worker, std::string a_folder)
      : loop(a_loop), worker(a_worker), folder(std::move(a_folder)) {}

  // Does `work` on another thread and gives its result to `done` on this one.
  template <typename T>
  void Run(std::function<Result<T>()> work, Done<T> done) {
    const auto result = std::make_shared<Result<T>>(Fail(Code::kInternal, "not run"));
    worker.Run([result, work = std::move(work)] { *result = work(); },
               [result, done = std::move(done), gone = weak_from_this()] {
                 if (!gone.expired()) done(std::move(*result));
               });
  }

  struct Putting {
    NewFile file;
    ObjectBody body;
    PutOptions options;
    Done<void> done;
    std::int64_t offset = 0;
  };
  // One part after the other: read here, written elsewhere.
  void PutNext(const std::shared_ptr<Putting>& put);
  void PutEnd(const std::shared_ptr<Putting>& put, Result<void> result);

  Loop& loop;
  Worker& worker;
  const std::string folder;
};

void FileStore::Impl::PutNext(const std::shared_ptr<Putting>& put) {
  const std::int64_t size = std::min(Download::kPartBytes, put->body.size_bytes - put->offset);
  if (size <= 0) {
    return Run<void>([put] { return EndFile(put->file, put->options); },
                     [this, put](Result<void> ended) { PutEnd(put, std::move(ended)); });
  }
  auto bytes = put->body.read(put->offset, static_cast<std::size_t>(size));
  if (!bytes) return PutEnd(put, tl::unexpected<Error>(bytes.error()));
  put->offset += size;
  Run<void>([put, bytes = *std::move(bytes)] { return AppendFile(put->file, bytes); },
            [this, put](Result<void> written) {
              if (!written) return PutEnd(put, std::move(written));
              PutNext(put);
            });
}

void FileStore::Impl::PutEnd(const std::shared_ptr<Putting>& put, Result<void> result) {
  if (!result) {
    Run<void>(
        [put]() -> Result<void> {
          DropFile(put->file);
          return {};
        },
        [](const Result<void>&) {});
  }
  put->done(std::move(result));
}

FileStore::FileStore(Loop& loop, Worker& worker, std::string folder)
    : impl_(std::make_shared<Impl>(loop, worker, std::move(folder))) {}
FileStore::~FileStore() = default;

void FileStore::Head(const std::string& key, Done<ObjectInfo> done) {
  impl_->Run<ObjectInfo>(
      [folder = impl_->folder, key]() -> Result<ObjectInfo> {
        TIDEMILL_TRY(const std::string path, FilePathOf(folder, key));
        return HeadFile(path, key);
      },
      std::move(done));
}

void FileStore::Get(const std::string& key, ObjectRange range, OnPiece on_piece,
                    Done<ObjectInfo> done) {
  if (range.offset < 0 || range.size.value_or(1) <= 0) {
    return impl_->Run<ObjectInfo>(
        [] { return Fail(Code::kInvalid, "the range is empty or negative"); }, std::move(done));
  }
  const auto fetch = [impl = std::weak_ptr<Impl>(impl_), key](const Download::Ask& ask,
                                                              Done<ObjectPart> part) {
    const auto self = impl.lock();
    if (!self) return;
    self->Run<ObjectPart>(
        [folder = self->folder, key, ask]() -> Result<ObjectPart> {
          TIDEMILL_TRY(const std::string path, FilePathOf(folder, key));
          return ReadFilePart(path, key, ask);
        },
        std::move(part));
  };
  Download::Start(range, fetch, std::move(on_piece), std::move(done));
}

void FileStore::Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) {
  const ObjectMarks marks = options.marks;
  const auto put = std::make_shared<Impl::Putting>(
      Impl::Putting{{}, std::move(body), std::move(options), std::move(done)});
  impl_->Run<std::shared_ptr<NewFile>>(
      [folder = impl_->folder, key, marks]() -> Result<std::shared_ptr<NewFile>> {
        TIDEMILL_TRY_VOID(CheckMarks(marks));
        TIDEMILL_TRY(const std::string path, FilePathOf(folder, key));
        TIDEMILL_TRY(NewFile file, BeginFile(path, marks));
        return std::make_shared<NewFile>(std::move(file));
      },
      [impl = impl_.get(), put](Result<std::shared_ptr<NewFile>> file) {
        if (!file) return put->done(tl::unexpected<Error>(file.error()));
        put->file = std::move(**file);
        impl->PutNext(put);
      });
}

void FileStore::List(ListOptions options, Done<ListPage> done) {
  impl_->Run<ListPage>(
      [folder = impl_->folder, options = std::move(options)] { return ListFiles(folder, options); },
      std::move(done));
}

void FileStore::Delete(const std::string& key, Done<void> done) {
  impl_->Run<void>(
      [folder = impl_->folder, key]() -> Result<void> {
        TIDEMILL_TRY(const std::string path, FilePathOf(folder, key));
        return DeleteFile(path);
      },
      std::move(done));
}

}  // namespace tidemill
