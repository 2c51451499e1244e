// SPDX-License-Identifier: Apache-2.0
#include "cli/send_code.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/digest.h"
#include "base/limits.h"
#include "cli/format.h"
#include "cli/pack_folder.h"
#include "wire/blob_json.h"

namespace tidemill::cli {
namespace {

// 8 MiB over a slow line.
constexpr std::chrono::milliseconds kPutTimeout{120'000};

void Note(const Console& console, const std::string& text) {
  if (!console.quiet && !console.json) console.ErrLine(Clip(text, console.columns));
}

std::string LeftOut(const PackedFolder& packed) {
  std::string text;
  for (const std::string& name : packed.left_out) {
    text += (text.empty() ? "; left out: " : ", ") + Printable(name);
  }
  const auto more = packed.left_out_count - static_cast<std::int64_t>(packed.left_out.size());
  return more > 0 ? text + " and " + Thousands(more) + " more" : text;
}

Result<std::string> PackHere(const Console& console, const std::string& code,
                             const std::string& spec_file) {
  const std::filesystem::path beside = std::filesystem::path(spec_file).parent_path();
  const std::string folder = (beside / code).lexically_normal().string();
  TIDEMILL_TRY(PackedFolder packed, PackFolder(folder.empty() ? "." : folder));
  Note(console, "code " + code + ": " + CountOf(packed.files, "file") + ", " +
                    BytesText(packed.file_bytes) + ", packed " +
                    BytesText(static_cast<std::int64_t>(packed.bytes.size())) + LeftOut(packed));
  return std::move(packed.bytes);
}

Result<std::string> ReadWhole(Stores& stores, const std::string& url) {
  TIDEMILL_TRY(const ByteRead read, ReadStoreObject(stores, url));
  std::string all;
  std::string piece(256 << 10, '\0');
  while (true) {
    TIDEMILL_TRY(const std::size_t got, read(piece.data(), piece.size()));
    if (got == 0) return all;
    all.append(piece, 0, got);
    if (all.size() > limits::kPartBytes) {
      return Fail(Code::kInvalid, url + " has more than " +
                                      BytesText(static_cast<std::int64_t>(limits::kPartBytes)) +
                                      "; put what is so large into the image");
    }
  }
}

}  // namespace

Result<std::string> PackCode(const Console& console, const MakeStores& stores,
                             const std::string& code, const std::string& spec_file) {
  return IsStoreUrl(code) ? ReadWhole(stores(), code) : PackHere(console, code, spec_file);
}

tl::expected<std::string, CodeFault> SendCode(const Context& context, const MakeStores& stores,
                                              const std::string& code,
                                              const std::string& spec_file) {
  if (!BlobNameOf(code).empty()) return code;
  auto packed = PackCode(context.console, stores, code, spec_file);
  if (!packed) return tl::unexpected(CodeFault{packed.error(), false});
  const std::string sha256 = Hex(Sha256(*packed));
  const std::string target = "/v1/blobs/" + sha256;
  const auto there = context.client.Get(target);
  if (!there && there.error().code != Code::kNotFound) {
    return tl::unexpected(CodeFault{there.error(), true});
  }
  if (!there) {
    const auto put = context.client.Call({.method = "PUT",
                                          .target = target,
                                          .content_type = "application/octet-stream",
                                          .body = *std::move(packed),
                                          .timeout = kPutTimeout});
    if (!put) return tl::unexpected(CodeFault{put.error(), true});
  }
  return "blob:" + sha256;
}

}  // namespace tidemill::cli
