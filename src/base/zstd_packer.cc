// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_packer.h"

#include <zstd.h>

#include "base/check.h"

namespace tidemill {
namespace {

void Pack(ZSTD_CCtx* context, std::string_view bytes, ZSTD_EndDirective how, std::string& out) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (true) {
    const std::size_t before = out.size();
    out.resize(before + ZSTD_CStreamOutSize());
    ZSTD_outBuffer space{out.data() + before, out.size() - before, 0};
    const std::size_t left = ZSTD_compressStream2(context, &space, &in, how);
    TIDEMILL_CHECK(ZSTD_isError(left) == 0);  // it is out of memory, or used wrongly
    out.resize(before + space.pos);
    if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return;
  }
}

}  // namespace

ZstdPacker::ZstdPacker() : context_(ZSTD_createCCtx()) { TIDEMILL_CHECK(context_ != nullptr); }

void ZstdPacker::Free::operator()(void* context) const {
  ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context));
}

void ZstdPacker::Add(std::string_view bytes, std::string& out) {
  Pack(static_cast<ZSTD_CCtx*>(context_.get()), bytes, ZSTD_e_continue, out);
}

void ZstdPacker::Finish(std::string& out) {
  Pack(static_cast<ZSTD_CCtx*>(context_.get()), {}, ZSTD_e_end, out);
}

}  // namespace tidemill
