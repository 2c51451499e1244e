// SPDX-License-Identifier: Apache-2.0
#include "cli/item_source.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kSourceReadBytes = 1 << 20;

}  // namespace

ItemSource::ItemSource(ByteRead read, std::string name, std::size_t part_bytes)
    : read_(std::move(read)), name_(std::move(name)), part_bytes_(part_bytes) {}

Result<void> ItemSource::Fill() {
  while (!ended_ && held_.size() <= part_bytes_) {
    const std::size_t had = held_.size();
    // One byte past a part shows whether there is more than one.
    const std::size_t want = std::min(kSourceReadBytes, part_bytes_ + 1 - had);
    held_.resize(had + want);
    const auto got = read_(held_.data() + had, want);
    held_.resize(had + (got ? *got : 0));
    if (!got && got.error().code != Code::kInternal) return tl::unexpected<Error>(got.error());
    if (!got) return While("read " + name_, got.error());
    if (*got == 0) ended_ = true;
  }
  return {};
}

Result<std::string> ItemSource::Next() {
  while (true) {
    TIDEMILL_TRY_VOID(Fill());
    if (held_.empty()) return std::string();
    std::string part;
    if (held_.size() <= part_bytes_) {
      part.swap(held_);
      if (part.back() != '\n') part.push_back('\n');
    } else {
      const std::size_t end = held_.rfind('\n', part_bytes_ - 1);
      if (end == std::string::npos) {
        return Fail(Code::kInvalid, name_ + ":" + std::to_string(line_ + 1) +
                                        ": this line has more than " +
                                        DecimalBytesText(static_cast<std::int64_t>(part_bytes_)));
      }
      part = held_.substr(0, end + 1);
      held_.erase(0, end + 1);
    }
    part_line_ = line_ + 1;
    TIDEMILL_TRY_VOID(Check(part));
    if (part.empty()) continue;
    bytes_ += static_cast<std::int64_t>(part.size());
    return part;
  }
}

Result<void> ItemSource::Check(std::string& part) {
  const auto wrong = [&](std::int64_t line, const std::string& why) {
    return Fail(Code::kInvalid, name_ + ":" + std::to_string(line) + ": " + why);
  };
  std::size_t kept = 0;  // where the last line that is an item ends
  for (std::size_t at = 0; at < part.size();) {
    const std::size_t end = part.find('\n', at);
    ++line_;
    std::string_view line(part.data() + at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (line.empty()) {
      if (empty_line_ == 0) empty_line_ = line_;
      continue;
    }
    if (empty_line_ != 0) return wrong(empty_line_, "an empty line; every line is an item");
    if (line.size() > limits::kItemBytes) {
      return wrong(line_, "an item of " + Thousands(static_cast<std::int64_t>(line.size())) +
                              " bytes; it may have " +
                              Thousands(static_cast<std::int64_t>(limits::kItemBytes)) +
                              ": keep data in an object store, and let the item name it");
    }
    ++items_;
    kept = at;
  }
  part.resize(kept);
  return {};
}

}  // namespace tidemill::cli
