// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_stream.h"

#include <utility>
#include <vector>

#include <zstd.h>

#include "base/check.h"

namespace tidemill {
namespace {

struct FreeReader {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
struct FreeWriter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

struct ZstdReader::Impl {
  ByteRead from;
  std::unique_ptr<ZSTD_DCtx, FreeReader> context{ZSTD_createDCtx()};
  std::vector<char> held = std::vector<char>(ZSTD_DStreamInSize());
  ZSTD_inBuffer in{held.data(), 0, 0};
  bool within = false;  // a frame has begun and not ended
  bool flushed = true;  // nothing waits in the context
  bool ended = false;
};

ZstdReader::ZstdReader(ByteRead from) : impl_(std::make_unique<Impl>()) {
  impl_->from = std::move(from);
}
ZstdReader::~ZstdReader() = default;
ZstdReader::ZstdReader(ZstdReader&&) noexcept = default;

Result<std::size_t> ZstdReader::Read(char* to, std::size_t size) {
  ZSTD_outBuffer out{to, size, 0};
  while (out.pos == 0 && size > 0) {
    if (impl_->in.pos == impl_->in.size && impl_->flushed) {
      if (impl_->ended) return 0;
      TIDEMILL_TRY(impl_->in.size, impl_->from(impl_->held.data(), impl_->held.size()));
      impl_->in.pos = 0;
      if (impl_->in.size == 0) {
        impl_->ended = true;
        if (impl_->within) return Fail(Code::kInvalid, "its zstd frame ends too early");
        return 0;
      }
    }
    const std::size_t left = ZSTD_decompressStream(impl_->context.get(), &out, &impl_->in);
    if (ZSTD_isError(left) != 0) {
      return Fail(Code::kInvalid, std::string("zstd: ") + ZSTD_getErrorName(left));
    }
    impl_->within = left != 0;
    // A full place may mean that there is more than fits.
    impl_->flushed = out.pos < out.size || left == 0;
  }
  return out.pos;
}

struct ZstdWriter::Impl {
  Result<void> Run(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer out{held.data(), held.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context.get(), &out, &in, how);
      TIDEMILL_CHECK(ZSTD_isError(left) == 0);
      if (out.pos > 0) TIDEMILL_TRY_VOID(to({held.data(), out.pos}));
      if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }

  Write to;
  std::unique_ptr<ZSTD_CCtx, FreeWriter> context{ZSTD_createCCtx()};
  std::vector<char> held = std::vector<char>(ZSTD_CStreamOutSize());
};

ZstdWriter::ZstdWriter(Write to, int level) : impl_(std::make_unique<Impl>()) {
  impl_->to = std::move(to);
  ZSTD_CCtx_setParameter(impl_->context.get(), ZSTD_c_compressionLevel, level);
}
ZstdWriter::~ZstdWriter() = default;
ZstdWriter::ZstdWriter(ZstdWriter&&) noexcept = default;

Result<void> ZstdWriter::Add(std::string_view bytes) { return impl_->Run(bytes, ZSTD_e_continue); }
Result<void> ZstdWriter::End() { return impl_->Run({}, ZSTD_e_end); }

}  // namespace tidemill
