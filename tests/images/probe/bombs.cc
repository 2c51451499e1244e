// SPDX-License-Identifier: Apache-2.0
// Uses things up.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "probe.h"

namespace probe {

// Each waits until it is killed; the first that cannot be made says how many there are.
int Fork() {
  for (int made = 0;; ++made) {
    const pid_t child = fork();
    if (child == 0) {
      while (true) pause();
    }
    if (child > 0) continue;
    printf("%d processes: %s\n", made, strerror(errno));
    return 0;
  }
}

int Memory() {
  constexpr std::size_t kPiece = 16 << 20;
  while (true) {
    void* const piece =
        mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return 1;
    memset(piece, 1, kPiece);
  }
}

int Shm() {
  const std::string piece(1 << 20, 'x');
  const int fd = open("/dev/shm/full", O_CREAT | O_WRONLY, 0600);
  std::size_t total = 0;
  while (true) {
    const ssize_t written = write(fd, piece.data(), piece.size());
    if (written <= 0) break;
    total += static_cast<std::size_t>(written);
  }
  printf("%zu bytes: %s\n", total, strerror(errno));
  return 0;
}

int Files() {
  int made = 0;
  while (open("/dev/null", O_RDONLY) >= 0) ++made;
  printf("%d files: %s\n", made, strerror(errno));
  return 0;
}

int Flood() {
  const std::string line(64 * 1024, 'l');
  for (int i = 0; i < 1600; ++i) {  // 100 MiB
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) return 1;
  }
  return 0;
}

int Core() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &all);
  abort();
}

}  // namespace probe
