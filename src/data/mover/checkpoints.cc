// SPDX-License-Identifier: Apache-2.0
#include "data/mover/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <utility>

#include "base/several.h"
#include "data/mover/output_files.h"

namespace tidemill {
namespace {

// A save may be deleted by its writer, who made another, while it is being put back.
constexpr int kTries = 3;
// What changed within this time may change again without another time on it.
constexpr std::int64_t kSettledNs = 1'000'000'000;

std::string SaveUrl(const CheckpointWork& work, const std::string& name) {
  return work.url + "saves/" + name;
}
std::string FileUrl(const CheckpointWork& work, const std::string& object) {
  return work.url + "files/" + object;
}

std::int64_t Nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

Error Changed(const std::string& name) {
  return {Code::kConflict, "'" + name.substr(0, 200) + "' changed while it was saved"};
}

Error Forgotten() { return {Code::kLost, "nobody wants it any more"}; }

// Who wrote what is at this place below the item's URL; empty: it is none of ours.
std::string WriterOf(std::string_view place) {
  constexpr std::string_view kSaves = "saves/";
  constexpr std::string_view kFiles = "files/";
  if (place.starts_with(kSaves)) {
    const auto name = ParseSaveName(place.substr(kSaves.size()));
    return name ? name->writer : "";
  }
  if (!place.starts_with(kFiles)) return "";
  place.remove_prefix(kFiles.size());
  return std::string(place.substr(0, place.find('/')));
}

}  // namespace

struct Checkpoints::Saving {
  DataPlace place;
  CheckpointWork work;
  std::string folder = {};
  SaveName name = {};
  std::vector<OutputFile> files = {};
  std::vector<Known> known = {};  // of each
};

Checkpoints::Checkpoints(std::string root, FindObject find)
    : places_(std::move(root)), find_(std::move(find)) {}

Checkpoints::Stamp Checkpoints::StampOf(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return {};
  return {status.st_size, Nanoseconds(status.st_mtim), Nanoseconds(status.st_ctim), status.st_ino};
}

// --- back on this machine ---

void Checkpoints::Look(const DataPlace& place, const CheckpointWork& work,
                       Done<std::vector<SaveName>> done) {
  ListRemote(find_, work.url + "saves/", "",
             [this, place, done = std::move(done)](const Result<std::vector<RemoteFile>>& found) {
               if (!found && found.error().code != Code::kNotFound) {
                 return done(tl::unexpected(found.error()));
               }
               const auto known = kept_.find(place);
               if (known == kept_.end()) return done(tl::unexpected(Forgotten()));
               std::vector<SaveName> names;
               Kept& kept = known->second;
               for (const RemoteFile& file : found ? *found : std::vector<RemoteFile>()) {
                 auto name = ParseSaveName(file.url.substr(file.url.rfind('/') + 1));
                 if (!name) continue;
                 kept.writers.insert(name->writer);
                 kept.next_seq = std::max(kept.next_seq, name->seq + 1);
                 names.push_back(*std::move(name));
               }
               done(std::move(names));
             });
}

void Checkpoints::Restore(const DataPlace& place, const CheckpointWork& work, Done<void> done) {
  kept_[place] = {};
  TryRestore(place, work, kTries, std::move(done));
}

void Checkpoints::TryRestore(const DataPlace& place, const CheckpointWork& work, int tries,
                             Done<void> done) {
  const auto again = [this, place, work, tries, done](Result<void> restored) {
    const bool is_gone = !restored && restored.error().code == Code::kNotFound;
    if (!is_gone) return done(std::move(restored));
    if (tries > 1) return TryRestore(place, work, tries - 1, done);
    // Somebody has deleted a part of it. Without it the item can still run; not to run at all would
    // help nobody.
    Bring(place, work, {}, done);
  };
  Look(place, work, [this, place, work, again, done](Result<std::vector<SaveName>> names) {
    if (!names) return done(tl::unexpected(std::move(names).error()));
    const SaveName* newest = NewestFor(*names, work.round, work.attempt);
    if (newest == nullptr) return Bring(place, work, {}, done);
    ReadSave(work, FormatSaveName(*newest),
             [this, place, work, again](Result<std::vector<SavedFile>> files) {
               if (!files) return again(tl::unexpected(std::move(files).error()));
               Bring(place, work, *std::move(files), again);
             });
  });
}

void Checkpoints::ReadSave(const CheckpointWork& work, const std::string& name,
                           Done<std::vector<SavedFile>> done) {
  const std::string url = SaveUrl(work, name);
  auto found = find_(url);
  if (!found) return done(tl::unexpected(NamedError(url, std::move(found).error())));
  const auto text = std::make_shared<std::string>();
  found->store->Get(
      found->key, {},
      [text](std::string_view piece) -> Result<void> {
        if (text->size() + piece.size() > kSaveBytes) return Fail(Code::kInvalid, "is too long");
        text->append(piece);
        return {};
      },
      [url, text, done = std::move(done)](Result<ObjectInfo> got) {
        if (!got) return done(tl::unexpected(NamedError(url, std::move(got).error())));
        auto files = ParseSave(*text);
        if (!files) return done(tl::unexpected(NamedError(url, std::move(files).error())));
        done(std::move(files));
      });
}

// Into a folder that no container sees: one of the same job could lay links there.
void Checkpoints::Bring(const DataPlace& place, const CheckpointWork& work,
                        std::vector<SavedFile> saved, Done<void> done) {
  const auto folder = places_.MakeRestore(place);
  if (!folder) return done(tl::unexpected(folder.error()));
  const auto files = std::make_shared<std::vector<RemoteFile>>();
  for (const SavedFile& each : saved) {
    auto path = FilePathBelow(*folder, each.name);
    if (!path) return done(tl::unexpected(NamedError(each.name, std::move(path).error())));
    files->push_back({FileUrl(work, each.object), *std::move(path), each.size_bytes, ""});
  }
  const auto one = [this, files](std::size_t i, Several::Done got) {
    const auto left = std::make_shared<std::int64_t>((*files)[i].size_bytes);
    FetchRemote(
        find_, (*files)[i],
        [left](std::int64_t bytes) -> Result<void> {
          if ((*left -= bytes) >= 0) return {};
          return Fail(Code::kInvalid, "it is longer than it was");
        },
        [left, got = std::move(got)](const Result<ObjectInfo>& info) {
          if (!info) return got(tl::unexpected(info.error()));
          if (*left != 0) return got(Fail(Code::kInvalid, "it is shorter than it was"));
          got({});
        });
  };
  Several::Run(
      files->size(), kFilesAtOnce, one,
      [this, place, saved = std::move(saved), done = std::move(done)](const Result<void>& fetched) {
        if (!fetched) return done(tl::unexpected(fetched.error()));
        if (kept_.contains(place)) return done(Show(place, saved));
        places_.Remove(place);
        done(tl::unexpected(Forgotten()));
      });
}

Result<void> Checkpoints::Show(const DataPlace& place, const std::vector<SavedFile>& files) {
  TIDEMILL_TRY_VOID(places_.ShowRestored(place));
  Kept& kept = kept_[place];
  for (const SavedFile& file : files) {
    const Fd fd(open((places_.CheckpointOf(place) + "/" + file.name).c_str(),
                     O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd) kept.files[file.name].stamp = StampOf(fd.get());
  }
  return {};
}

// --- away from it ---

void Checkpoints::Save(const DataPlace& place, const CheckpointWork& work, Done<void> done) {
  if (kept_.contains(place)) return SaveNow(place, work, std::move(done));
  // An earlier life of this process knew it.
  kept_[place] = {};
  Look(place, work, [this, place, work, done](Result<std::vector<SaveName>> names) {
    if (!names) return done(tl::unexpected(std::move(names).error()));
    SaveNow(place, work, done);
  });
}

void Checkpoints::SaveNow(const DataPlace& place, const CheckpointWork& work, Done<void> done) {
  auto saving = std::make_shared<Saving>();
  Kept& kept = kept_[place];
  saving->place = place;
  saving->work = work;
  saving->folder = places_.CheckpointOf(place);
  saving->name = {work.round, work.attempt, kept.next_seq++, work.writer};
  auto files = FindFiles(saving->folder);
  if (!files) return done(tl::unexpected(std::move(files).error()));
  saving->files = *std::move(files);
  std::int64_t bytes = 0;
  for (const OutputFile& file : saving->files) bytes += file.size_bytes;
  if (saving->files.size() > kCheckpointFiles || bytes > kBytesMost) {
    return done(Fail(Code::kInvalid, "it has " + std::to_string(saving->files.size()) +
                                         " files and " + std::to_string(bytes) +
                                         " bytes; at most " + std::to_string(kCheckpointFiles) +
                                         " and " + std::to_string(kBytesMost) + " are saved"));
  }
  saving->known.resize(saving->files.size());
  if (auto changed = HasChanged(*saving); !changed || !*changed) {
    if (changed) return done({});
    return done(tl::unexpected(std::move(changed).error()));
  }
  Several::Run(
      saving->files.size(), kFilesAtOnce,
      [this, saving](std::size_t i, Several::Done saved) { SaveOne(saving, i, std::move(saved)); },
      [this, saving, done = std::move(done)](const Result<void>& saved) {
        if (!saved) return done(tl::unexpected(saved.error()));
        if (!kept_.contains(saving->place)) return done(tl::unexpected(Forgotten()));
        PutSave(saving, done);
      });
}

// Since the last save, or since it was put back.
Result<bool> Checkpoints::HasChanged(const Saving& saving) const {
  const std::map<std::string, Known>& before = kept_.at(saving.place).files;
  if (saving.files.size() != before.size()) return true;
  for (const OutputFile& file : saving.files) {
    const auto known = before.find(file.name);
    if (known == before.end()) return true;
    const auto fd = OpenOutput(saving.folder, file);
    if (!fd) return tl::unexpected(Changed(file.name));
    if (StampOf(fd->get()) != known->second.stamp) return true;
  }
  return false;
}

// While it is read the item may change it, or put something else in its place: it is opened as
// outputs are, and looked at again when it was read.
void Checkpoints::SaveOne(const std::shared_ptr<Saving>& saving, std::size_t i, Done<void> done) {
  const OutputFile& file = saving->files[i];
  auto opened = OpenOutput(saving->folder, file);
  if (!opened) return done(tl::unexpected(Changed(file.name)));
  const auto fd = std::make_shared<const Fd>(*std::move(opened));
  Known& known = saving->known[i];
  known.stamp = StampOf(fd->get());
  if (known.stamp.size_bytes != file.size_bytes) return done(tl::unexpected(Changed(file.name)));
  const auto kept = kept_.find(saving->place);
  if (kept == kept_.end()) return done(tl::unexpected(Forgotten()));
  const auto before = kept->second.files.find(file.name);
  const bool is_same = before != kept->second.files.end() && before->second.stamp == known.stamp;
  if (is_same && !before->second.object.empty()) {
    known.object = before->second.object;
    return done({});
  }
  known.object =
      saving->work.writer + "/" + std::to_string(saving->name.seq) + "-" + std::to_string(i);
  const std::string url = FileUrl(saving->work, known.object);
  auto found = find_(url);
  if (!found) return done(tl::unexpected(NamedError(url, std::move(found).error())));
  const bool is_settled = NowNs() - known.stamp.status_ns > kSettledNs;
  found->store->Put(found->key, FileBody(fd, file.size_bytes), {},
                    [saving, i, fd, is_settled, done = std::move(done)](Result<void> put) {
                      const std::string& name = saving->files[i].name;
                      Known& stored = saving->known[i];
                      const bool is_still = StampOf(fd->get()) == stored.stamp;
                      if (!is_still) return done(tl::unexpected(Changed(name)));
                      if (!is_settled) stored.stamp.status_ns = 0;  // is stored anew next time
                      done(std::move(put));
                    });
}

void Checkpoints::PutSave(const std::shared_ptr<Saving>& saving, Done<void> done) {
  std::vector<SavedFile> files;
  for (std::size_t i = 0; i < saving->files.size(); ++i) {
    const OutputFile& file = saving->files[i];
    files.push_back({file.name, saving->known[i].object, file.size_bytes});
  }
  const std::string url = SaveUrl(saving->work, FormatSaveName(saving->name));
  auto found = find_(url);
  if (!found) return done(tl::unexpected(NamedError(url, std::move(found).error())));
  PutOptions options;
  options.content_type = "application/json";
  found->store->Put(found->key, BodyOf(FormatSave(files)), options,
                    [this, saving, done = std::move(done)](Result<void> put) {
                      if (put) OnPut(saving);
                      done(std::move(put));
                    });
}

// The one before it goes first, then the files that only that one had.
void Checkpoints::OnPut(const std::shared_ptr<Saving>& saving) {
  const auto found = kept_.find(saving->place);
  if (found == kept_.end()) return;
  Kept& kept = found->second;
  std::set<std::string> gone;
  for (const auto& [name, known] : kept.files) {
    if (!known.object.empty()) gone.insert(FileUrl(saving->work, known.object));
  }
  kept.files.clear();
  for (std::size_t i = 0; i < saving->files.size(); ++i) {
    kept.files[saving->files[i].name] = saving->known[i];
    gone.erase(FileUrl(saving->work, saving->known[i].object));
  }
  std::vector<std::string> urls;
  if (!kept.save.empty()) urls.push_back(SaveUrl(saving->work, kept.save));
  urls.insert(urls.end(), gone.begin(), gone.end());
  kept.save = FormatSaveName(saving->name);
  Delete(std::move(urls));
}

void Checkpoints::Delete(std::vector<std::string> urls) {
  const auto all = std::make_shared<const std::vector<std::string>>(std::move(urls));
  const auto one = [this, all](std::size_t i, Several::Done gone) {
    auto found = find_((*all)[i]);
    if (!found) return gone({});
    found->store->Delete(found->key, [gone = std::move(gone)](const Result<void>&) { gone({}); });
  };
  // One after the other: a save goes before its files.
  Several::Run(all->size(), 1, one, [](const Result<void>&) {});
}

void Checkpoints::DropSaves(const DataPlace& place, const CheckpointWork& work) {
  std::set<std::string> writers = {work.writer};
  if (const auto kept = kept_.find(place); kept != kept_.end()) {
    writers.insert(kept->second.writers.begin(), kept->second.writers.end());
  }
  ListRemote(find_, work.url, "",
             [this, url = work.url, writers](const Result<std::vector<RemoteFile>>& found) {
               std::vector<std::string> saves;
               std::vector<std::string> files;
               for (const RemoteFile& file : found ? *found : std::vector<RemoteFile>()) {
                 const std::string_view at = std::string_view(file.url).substr(url.size());
                 if (!writers.contains(WriterOf(at))) continue;
                 (at.starts_with("saves/") ? saves : files).push_back(file.url);
               }
               saves.insert(saves.end(), files.begin(), files.end());
               Delete(std::move(saves));
             });
}

}  // namespace tidemill
