// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/code_folders.h"

#include <memory>
#include <string_view>
#include <utility>

namespace tidemill {

CodeFolders::CodeFolders(ObjectStores& stores, Worker& worker, std::string folder)
    : stores_(stores), folders_(worker, {.root = std::move(folder), .limits = kLimits}) {}

void CodeFolders::Get(const std::string& url, const std::string& sha256,
                      std::function<void(Result<Folder>)> done) {
  const auto fetch = [this, url](std::function<void(Result<std::string>)> fetched) {
    const auto place = stores_.Find(url);
    if (!place) return fetched(tl::unexpected<Error>(place.error()));
    const auto text = std::make_shared<std::string>();
    const auto on_piece = [text](std::string_view piece) -> Result<void> {
      if (static_cast<std::int64_t>(text->size() + piece.size()) > kPackedBytes) {
        return Fail(Code::kInvalid, "it is larger than anything that can be uploaded");
      }
      text->append(piece);
      return {};
    };
    place->store->Get(place->key, {}, on_piece,
                      [text, fetched = std::move(fetched)](const Result<ObjectInfo>& got) {
                        if (!got) return fetched(tl::unexpected<Error>(got.error()));
                        fetched(std::move(*text));
                      });
  };
  folders_.Get(sha256, fetch, std::move(done));
}

}  // namespace tidemill
