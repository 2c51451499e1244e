// SPDX-License-Identifier: Apache-2.0
#include "objects/download.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tidemill {
namespace {

class Running : public std::enable_shared_from_this<Running> {
 public:
  Running(ObjectRange range, Download::Fetch fetch, ObjectStore::OnPiece on_piece,
          ObjectStore::Done<ObjectInfo> done)
      : fetch_(std::move(fetch)),
        on_piece_(std::move(on_piece)),
        done_(std::move(done)),
        next_ask_(range.offset),
        next_pass_(range.offset),
        begin_(range.offset),
        wanted_(range.size) {}

  // The first alone: it says how long the object is and which content it has.
  void Begin() {
    const std::int64_t size =
        std::min(Download::kPartBytes, wanted_.value_or(Download::kPartBytes));
    AskFor(size);
  }

 private:
  void AskFor(std::int64_t size) {
    const std::int64_t offset = next_ask_;
    next_ask_ += size;
    ++under_way_;
    fetch_({offset, size, info_.tag},
           [self = shared_from_this(), offset, size](Result<ObjectPart> part) {
             --self->under_way_;
             self->OnPart(offset, size, std::move(part));
           });
  }

  void OnPart(std::int64_t offset, std::int64_t size, Result<ObjectPart> part) {
    if (over_) return;
    if (!part) return End(tl::unexpected<Error>(part.error()));
    if (!end_) {
      info_ = std::move(part->info);
      end_ = info_.size_bytes;
      if (wanted_) end_ = std::min(*end_, begin_ + *wanted_);
      next_ask_ = std::min(next_ask_, *end_);
    }
    const std::int64_t expected = std::max<std::int64_t>(std::min(size, *end_ - offset), 0);
    if (static_cast<std::int64_t>(part->bytes.size()) != expected) {
      return End(Fail(Code::kUnknown, "a part came with " + std::to_string(part->bytes.size()) +
                                          " bytes instead of " + std::to_string(expected)));
    }
    ready_[offset] = std::move(part->bytes);
    PassOn();
    if (!over_) AskMore();
  }

  void PassOn() {
    while (!ready_.empty() && ready_.begin()->first == next_pass_) {
      const std::string bytes = std::move(ready_.begin()->second);
      ready_.erase(ready_.begin());
      next_pass_ += static_cast<std::int64_t>(bytes.size());
      if (bytes.empty()) continue;
      if (auto passed = on_piece_(bytes); !passed) {
        return End(tl::unexpected<Error>(passed.error()));
      }
    }
    if (next_pass_ >= *end_) End(info_);
  }

  void AskMore() {
    const auto held = [this] { return under_way_ + static_cast<int>(ready_.size()); };
    while (next_ask_ < *end_ && held() < Download::kAtOnce) {
      AskFor(std::min(Download::kPartBytes, *end_ - next_ask_));
    }
  }

  void End(Result<ObjectInfo> result) {
    over_ = true;
    ready_.clear();
    std::exchange(done_, nullptr)(std::move(result));
  }

  const Download::Fetch fetch_;
  const ObjectStore::OnPiece on_piece_;
  ObjectStore::Done<ObjectInfo> done_;
  std::int64_t next_ask_;
  std::int64_t next_pass_;
  const std::int64_t begin_;
  const std::optional<std::int64_t> wanted_;
  std::optional<std::int64_t> end_;  // known with the first part
  ObjectInfo info_;
  int under_way_ = 0;
  bool over_ = false;
  std::map<std::int64_t, std::string> ready_;
};

}  // namespace

void Download::Start(ObjectRange range, Fetch fetch, ObjectStore::OnPiece on_piece,
                     ObjectStore::Done<ObjectInfo> done) {
  std::make_shared<Running>(range, std::move(fetch), std::move(on_piece), std::move(done))->Begin();
}

}  // namespace tidemill
