// SPDX-License-Identifier: Apache-2.0
// However a text is cut, a masker makes of it what the naive search makes of the whole, and holds
// back no more than it must.
// sources: mask/masker.cc mask/patterns.cc base/bytes.cc base/check.cc
// libraries: zstd
#include <cstdint>
#include <cstdlib>

#include "mask/masker.h"
#include "mask/naive_testing.h"
#include "mask/patterns.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Takes bytes from the front of the input; zeros when it is used up.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  std::size_t Byte() {
    const std::string_view byte = Take(1);
    return byte.empty() ? 0 : static_cast<unsigned char>(byte[0]);
  }
  std::string_view Take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

void FuzzOne(std::string_view bytes) {
  Input input(bytes);
  const bool as_secrets = input.Byte() % 2 == 1;
  const std::size_t cut = input.Byte();
  std::set<std::string> patterns;
  for (std::size_t count = input.Byte() % 5; count > 0; --count) {
    const std::string pattern(input.Take(input.Byte() % 20 + 1));
    if (as_secrets) {
      AddPatterns(pattern, patterns);
    } else if (!pattern.empty()) {
      patterns.insert(pattern);
    }
  }
  // Some of what is to be found, in the middle of what is not.
  std::string text(input.rest());
  std::size_t place = cut;
  for (const std::string& pattern : patterns) {
    place = place * 31 + 7;
    if (place % 3 == 0) text.insert(place % (text.size() + 1), pattern);
  }

  const Masker masker(patterns);
  MaskedText masked(masker);
  std::string got;
  std::size_t piece = cut;
  for (std::size_t at = 0; at < text.size();) {
    piece = (piece * 5 + 3) % 64;
    const std::string_view fed = std::string_view(text).substr(at, cut == 0 ? 1 : piece);
    got += masked.Feed(fed);
    at += fed.size();
    Require(masked.held_bytes() == OpenNaively(std::string_view(text).substr(0, at), patterns));
  }
  got += masked.Flush();
  Require(masked.held_bytes() == 0);
  Require(got == MaskNaively(text, patterns));
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tidemill::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
