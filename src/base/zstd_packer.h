// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tidemill {

// Packs a stream of any length into one zstd frame, as it comes. (Many readers stop at the end of
// the first frame.) One thread.
class ZstdPacker {
 public:
  ZstdPacker();
  // What of the frame is ready is appended to `out`.
  void Add(std::string_view bytes, std::string& out);
  // The end of the frame; nothing may follow.
  void Finish(std::string& out);

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

}  // namespace tidemill
