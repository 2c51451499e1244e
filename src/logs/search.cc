// SPDX-License-Identifier: Apache-2.0
#include "logs/search.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <utility>

namespace tidemill {

struct LogPattern::Impl {
  Impl() : filtered(static_cast<int>(GramFilter::kGram)) {}

  re2::FilteredRE2 filtered;
  std::vector<std::string> literals;  // of small letters; which of them a match needs, RE2 knows
};

LogPattern::LogPattern(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogPattern::~LogPattern() = default;

Result<std::shared_ptr<const LogPattern>> LogPattern::Parse(const std::string& text) {
  if (text.empty() || text.size() > kBytesMost) {
    return Fail(Code::kInvalid, "must have 1 to " + std::to_string(kBytesMost) + " bytes");
  }
  RE2::Options options;
  options.set_log_errors(false);
  // For its automata, which are thrown away and made anew when this is full.
  options.set_max_mem(8 << 20);
  const RE2 checked(text, options);
  if (!checked.ok()) return Fail(Code::kInvalid, checked.error());
  auto impl = std::make_unique<Impl>();
  int id = 0;
  if (impl->filtered.Add(text, options, &id) != RE2::NoError) {
    return Fail(Code::kInvalid, "cannot be searched for");
  }
  impl->filtered.Compile(&impl->literals);
  return std::shared_ptr<const LogPattern>(new LogPattern(std::move(impl)));
}

bool LogPattern::MayMatch(const GramFilter& filter) const {
  if (impl_->literals.empty()) return true;
  std::vector<int> there;
  for (std::size_t i = 0; i < impl_->literals.size(); ++i) {
    if (filter.MayHave(impl_->literals[i])) there.push_back(static_cast<int>(i));
  }
  std::vector<int> possible;
  impl_->filtered.AllPotentials(there, &possible);
  return !possible.empty();
}

bool LogPattern::Matches(std::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), impl_->filtered.GetRE2(0));
}

namespace {

// The times of a group's parts, asked in the order of its text.
class PartTimes {
 public:
  PartTimes(const LogFrame& frame, const LogFrame::Group& group)
      : next_(frame.parts.data() + group.first_part), left_(group.parts) {}

  std::int64_t At(std::size_t offset) {
    while (left_ > 1 && offset >= begin_ + next_->size) {
      begin_ += next_->size;
      ++next_;
      --left_;
    }
    return left_ == 0 ? 0 : next_->time_ms;
  }

 private:
  const LogPart* next_;
  std::size_t left_;
  std::size_t begin_ = 0;
};

}  // namespace

FrameSearch SearchFrame(const LogFrame& frame, const LogPattern& pattern,
                        const FrameSearchOptions& options) {
  FrameSearch found;
  std::size_t bytes = 0;
  for (const LogFrame::Group& group : frame.groups) {
    const std::string_view text = frame.TextOf(group);
    const bool wanted = !options.wanted || options.wanted(group.who.item);
    PartTimes times(frame, group);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      const std::size_t begin = std::exchange(at, end + 1);
      if (found.next++ < options.from || !wanted || !pattern.Matches(line)) continue;
      line = line.substr(0, kHitBytes);
      if (found.hits.size() == options.most ||
          (!found.hits.empty() && bytes + line.size() > options.bytes_most)) {
        --found.next;
        return found;
      }
      bytes += line.size();
      found.hits.push_back({group.who, times.At(begin), std::string(line), found.next - 1});
    }
  }
  found.done = true;
  return found;
}

}  // namespace tidemill
