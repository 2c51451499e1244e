// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// Reads up to so many bytes into a place; none at the end.
using ByteRead = std::function<Result<std::size_t>(char*, std::size_t)>;

// What is in the zstd frames that `from` gives, piece by piece. A frame that asks for a window of
// more than 128 MiB is refused. One thread.
class ZstdReader {
 public:
  explicit ZstdReader(ByteRead from);
  ~ZstdReader();
  ZstdReader(ZstdReader&&) noexcept;

  // kInvalid: this is not zstd, or it ends too early; or what `from` says.
  Result<std::size_t> Read(char* to, std::size_t size);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Packs what it is given into one frame, the same for the same bytes. One thread.
class ZstdWriter {
 public:
  using Write = std::function<Result<void>(std::string_view)>;
  explicit ZstdWriter(Write to, int level = 3);
  ~ZstdWriter();
  ZstdWriter(ZstdWriter&&) noexcept;

  Result<void> Add(std::string_view bytes);
  Result<void> End();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
