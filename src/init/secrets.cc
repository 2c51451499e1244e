// SPDX-License-Identifier: Apache-2.0
#include "init/secrets.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace tidemill::init {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

int WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

// Modes are exact, whatever the umask is. The name has a NUL behind it and no slash in it.
int WriteFile(int folder, const frame::SecretFile& secret) {
  const int file = openat(folder, secret.name.data(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (file < 0) return errno;
  int error = fchmod(file, kFileMode) == 0 ? 0 : errno;
  if (error == 0) error = WriteAll(file, secret.content);
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

int Secrets::Open() { return path_ == nullptr ? 0 : folder_.Open(); }

int Secrets::Empty() const { return path_ == nullptr ? 0 : folder_.Empty(); }

int Secrets::Write(frame::Run& run) {
  variable_.clear();
  if (run.secret_files.empty()) return 0;
  if (path_ == nullptr) return EOPNOTSUPP;
  // A name that no item before could have told to a later one.
  unsigned long long random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return errno;
  char name[2 * sizeof(random) + 1];
  snprintf(name, sizeof(name), "%016llx", random);
  variable_.assign("TIDEMILL_SECRETS=").append(path_).append("/").append(name);
  const char* path = variable_.c_str() + variable_.find('=') + 1;
  if (mkdir(path, kFolderMode) != 0 || chmod(path, kFolderMode) != 0) return errno;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno;
  int error = 0;
  for (const frame::SecretFile& secret : run.secret_files) {
    if (error == 0) error = WriteFile(folder, secret);
  }
  close(folder);
  run.env.push_back(variable_);
  return error;
}

}  // namespace tidemill::init
