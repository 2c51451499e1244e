// SPDX-License-Identifier: Apache-2.0
#include "cli/gunzip.h"

#include <zlib.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tidemill::cli {
namespace {

class Gzip {
 public:
  explicit Gzip(ByteRead from) : from_(std::move(from)) {
    constexpr int kGzipOnly = 16;
    TIDEMILL_CHECK(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK);
  }
  ~Gzip() { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  Result<std::size_t> Read(char* to, std::size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (stream_.avail_in == 0) {
        TIDEMILL_TRY(const std::size_t got, from_(held_.data(), held_.size()));
        if (got == 0) {
          if (within_) return Fail(Code::kInvalid, "its gzip data ends too early");
          return 0;
        }
        stream_.next_in = reinterpret_cast<Bytef*>(held_.data());
        stream_.avail_in = static_cast<uInt>(got);
      }
      within_ = true;
      const int told = inflate(&stream_, Z_NO_FLUSH);
      if (told == Z_STREAM_END) {
        within_ = false;
        inflateReset(&stream_);
      } else if (told != Z_OK && told != Z_BUF_ERROR) {
        return Fail(Code::kInvalid, stream_.msg != nullptr ? std::string("gzip: ") + stream_.msg
                                                           : "it is not gzip");
      }
    }
    return size - stream_.avail_out;
  }

 private:
  const ByteRead from_;
  std::vector<char> held_ = std::vector<char>(128 << 10);
  z_stream stream_{};
  bool within_ = false;
};

}  // namespace

ByteRead Gunzip(ByteRead from) {
  return [gzip = std::make_shared<Gzip>(std::move(from))](char* to, std::size_t size) {
    return gzip->Read(to, size);
  };
}

}  // namespace tidemill::cli
