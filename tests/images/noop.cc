// SPDX-License-Identifier: Apache-2.0
// All that the image tidemill-test/scratch holds: prints its arguments and, if the first is a
// number, exits with it. Without arguments it does nothing at all.
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("%s%s", i > 1 ? " " : "", argv[i]);
  if (argc == 1) return 0;
  std::printf("\n");
  return std::atoi(argv[1]);
}
