// SPDX-License-Identifier: Apache-2.0
#include "cdi/under_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/fd.h"

namespace tidemill {

std::string UnderRoot(const std::string& root, const std::string& path) {
  std::string_view base = root;
  while (base.ends_with('/')) base.remove_suffix(1);
  return std::string(base) + path;
}

std::vector<std::string> NamesUnder(const std::string& root, const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(UnderRoot(root, folder).c_str()), closedir);
  while (const dirent* entry = dir ? readdir(dir.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string TextUnder(const std::string& root, const std::string& path) {
  const Fd fd(open(UnderRoot(root, path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return "";
  std::string text(4096, '\0');  // a page: what such a file gives at once
  const ssize_t size = read(fd.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  constexpr std::string_view kBlanks = " \t\r\n";
  text.erase(text.find_last_not_of(kBlanks) + 1);
  text.erase(0, std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

bool IsCharDeviceUnder(const std::string& root, const std::string& path) {
  struct stat found = {};
  return lstat(UnderRoot(root, path).c_str(), &found) == 0 && S_ISCHR(found.st_mode);
}

int NumberAfter(std::string_view word, std::string_view name) {
  if (!name.starts_with(word) || name.size() == word.size()) return -1;
  const std::string_view digits = name.substr(word.size());
  int number = -1;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 10);
  const bool is_plain = error == std::errc() && end == digits.data() + digits.size() &&
                        (digits.size() == 1 || digits.front() != '0');
  return is_plain && number >= 0 ? number : -1;
}

}  // namespace tidemill
