// SPDX-License-Identifier: Apache-2.0
#include "server/http/chunk_answer.h"

#include <limits>
#include <string>
#include <utility>

#include "server/http/query.h"

namespace tidemill {

Result<std::int32_t> ReadChunkNumber(std::string_view text) {
  const auto number = ParseNumber(text);
  if (!number || *number > std::numeric_limits<std::int32_t>::max()) {
    return Fail(Code::kInvalid, "the chunk's number: chunks are counted from 0");
  }
  return static_cast<std::int32_t>(*number);
}

HttpResponse ChunkAnswer(ChunkItems&& items, Keep keep) {
  HttpResponse response;
  response.status = items.body.empty() ? 204 : 200;
  if (!items.body.empty()) response.content_type = "application/zstd";
  response.headers = {
      {"Tidemill-First-Item", std::to_string(items.first_item)},
      {"Tidemill-Length", std::to_string(items.length)},
      {"Cache-Control",
       keep == Keep::kForEver ? "private, max-age=31536000, immutable" : "no-store"}};
  response.body = std::move(items.body);
  return response;
}

}  // namespace tidemill
