// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace tidemill {

std::uint64_t Random::Below(std::uint64_t bound) {
  TIDEMILL_CHECK(bound > 0);
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(Next()) * bound >> 64);
}

bool Random::Chance(double p) { return Unit() < p; }

double Random::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

SeededRandom::SeededRandom(std::uint64_t seed, std::string_view stream) : state_(seed) {
  // Mixed first, or seed 1 with stream "a" would be seed 2 with stream "b".
  if (!stream.empty()) state_ = Next();
  for (const char c : stream) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
}

// splitmix64: one add and a mix, every seed good, period 2^64.
std::uint64_t SeededRandom::Next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t SystemRandom::Next() {
  std::uint64_t value = 0;
  TIDEMILL_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
  return value;
}

}  // namespace tidemill
