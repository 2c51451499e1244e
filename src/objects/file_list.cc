// SPDX-License-Identifier: Apache-2.0
#include "objects/file_list.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "objects/file_disk.h"

namespace tidemill {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using OpenedFolder = std::unique_ptr<DIR, CloseFolder>;

// Of a folder with a slash at its end, of a file as it is; empty: neither.
std::string NameOf(const std::string& folder, const dirent& entry) {
  const std::string name = entry.d_name;
  if (name == "." || name == ".." || name.starts_with(kFilePartPrefix)) return "";
  if (entry.d_type == DT_REG) return name;
  if (entry.d_type == DT_DIR) return name + "/";
  struct stat status{};
  const std::string path = folder + name;
  if (entry.d_type == DT_UNKNOWN && lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return name + "/";
  }
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? name : "";
}

// One page, folder by folder in the order of bytes.
class Walk {
 public:
  Walk(std::string root, const ListOptions& options)
      : root_(std::move(root)),
        options_(options),
        from_(options.next.empty() ? options.after : options.next),
        most_(static_cast<std::size_t>(std::max(options.most, 1))) {}

  Result<ListPage> Run() {
    // The deepest folder that holds all of the prefix.
    const std::string inside = options_.prefix.substr(0, options_.prefix.rfind('/') + 1);
    const bool is_inside = inside.empty() || FilePathOf("", inside + "x").has_value();
    if (is_inside) TIDEMILL_TRY_VOID(Folder(inside));
    return std::move(page_);
  }

 private:
  // Whether something behind `from_` may stand at this key, or below it if it ends with a slash.
  bool Counts(const std::string& key) const {
    const std::string& prefix = options_.prefix;
    if (!key.ends_with('/')) return key > from_ && key.starts_with(prefix);
    if (!key.starts_with(prefix) && !prefix.starts_with(key)) return false;
    if (key == options_.next && IsFolded(key)) return false;
    return key > from_ || from_.starts_with(key);
  }
  bool IsFolded(const std::string& folder) const {
    return !options_.delimiter.empty() && folder.size() > options_.prefix.size();
  }

  // The first names of a folder behind `behind`, at most one more than a page has.
  Result<std::vector<std::string>> Names(const std::string& folder,
                                         const std::string& behind) const {
    const std::string path = root_ + "/" + folder;
    const OpenedFolder opened(opendir(path.c_str()));
    if (!opened) {
      const bool is_nothing = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
      if (is_nothing) return std::vector<std::string>();
      return Fail(Code::kUnavailable, path + ": " + std::strerror(errno));
    }
    std::priority_queue<std::string> first;  // the last of them on top
    // Only readdir's own error is one.
    const auto next = [&] {
      errno = 0;
      return readdir(opened.get());
    };
    while (const dirent* const entry = next()) {
      std::string name = NameOf(path, *entry);
      if (name.empty() || name <= behind || !Counts(folder + name)) continue;
      if (first.size() > most_) {
        if (name >= first.top()) continue;
        first.pop();
      }
      first.push(std::move(name));
    }
    if (errno != 0) return Fail(Code::kUnavailable, path + ": " + std::strerror(errno));
    std::vector<std::string> names;
    for (; !first.empty(); first.pop()) names.push_back(first.top());
    std::reverse(names.begin(), names.end());
    return names;
  }

  Result<void> Folder(const std::string& folder) {
    std::string behind;
    while (true) {
      TIDEMILL_TRY(const std::vector<std::string> names, Names(folder, behind));
      for (const std::string& name : names) {
        const std::string key = folder + name;
        if (!name.ends_with('/')) {
          AddFile(key);
        } else if (!IsFolded(key)) {
          TIDEMILL_TRY_VOID(Folder(key));
        } else if (HasFile(key) && HasRoom()) {
          page_.prefixes.push_back(key);
          last_ = key;
        }
        if (!page_.next.empty()) return {};
      }
      // All that were left out may be needed if folders among these were empty.
      if (names.size() <= most_) return {};
      behind = names.back();
    }
  }

  void AddFile(const std::string& key) {
    struct stat status{};
    if (stat((root_ + "/" + key).c_str(), &status) != 0 || !HasRoom()) return;
    page_.objects.push_back({.key = key, .size_bytes = status.st_size, .tag = FileTagOf(status)});
    last_ = key;
  }

  // Whether one more fits; if not, the page says where the next one begins.
  bool HasRoom() {
    if (page_.objects.size() + page_.prefixes.size() < most_) return true;
    page_.next = last_;
    return false;
  }

  bool HasFile(const std::string& folder) const {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::recursive_directory_iterator walk(root_ + "/" + folder,
                                          fs::directory_options::skip_permission_denied, error);
    for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
      std::error_code unread;
      if (!walk->is_regular_file(unread)) continue;
      if (!walk->path().filename().string().starts_with(kFilePartPrefix)) return true;
    }
    return false;
  }

  const std::string root_;
  const ListOptions& options_;
  const std::string from_;
  const std::size_t most_;
  std::string last_;
  ListPage page_;
};

}  // namespace

Result<ListPage> ListFiles(const std::string& root, const ListOptions& options) {
  return Walk(root, options).Run();
}

}  // namespace tidemill
