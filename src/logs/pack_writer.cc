// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "logs/pack.h"

namespace tidemill {
namespace {

// Of a frame's packed bytes: a search that reads all filters of a job must not read much.
constexpr std::size_t kFilterShare = 100;
constexpr std::size_t kFilterLeast = 64;

void PutFour(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

void PackWriter::Add(const LogAttempt& who, LogPart part, std::string_view text) {
  const std::uint32_t flags = part.flags;
  while (text.size() > frame_bytes_) {
    part.flags = flags & ~LogPart::kLast;
    Put(who, part, text.substr(0, frame_bytes_));
    text.remove_prefix(frame_bytes_);
    part.missing = 0;
    part.flags = flags & LogPart::kLast;
  }
  Put(who, part, text);
}

void PackWriter::Put(const LogAttempt& who, const LogPart& part, std::string_view text) {
  if (!text_.empty() && text_.size() + text.size() > frame_bytes_) CloseFrame();
  waiting_.push_back({who, part, text_.size()});
  waiting_.back().part.size = text.size();
  text_ += text;
}

void PackWriter::CloseFrame() {
  if (waiting_.empty()) return;
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Waiting& a, const Waiting& b) { return a.who < b.who; });
  std::string heads;
  std::string text;
  text.reserve(text_.size());
  std::uint64_t groups = 0;
  std::int64_t item = 0;
  std::int64_t time = 0;
  GramCollector grams;
  for (std::size_t i = 0; i < waiting_.size();) {
    const LogAttempt who = waiting_[i].who;
    std::size_t end = i;
    while (end < waiting_.size() && waiting_[end].who == who) ++end;
    ++groups;
    PutSigned(heads, who.item - item);
    item = who.item;
    PutVarint(heads, static_cast<std::uint64_t>(who.round));
    PutVarint(heads, static_cast<std::uint64_t>(who.attempt));
    PutVarint(heads, end - i);
    PackEntry entry{.who = who, .time_ms = waiting_[i].part.time_ms};
    const std::size_t begin = text.size();
    for (; i < end; ++i) {
      const LogPart& part = waiting_[i].part;
      PutSigned(heads, part.time_ms - time);
      time = part.time_ms;
      PutVarint(heads, part.flags);
      if ((part.flags & LogPart::kHole) != 0) PutVarint(heads, part.missing);
      PutVarint(heads, part.size);
      text.append(text_, waiting_[i].text_at, part.size);
      entry.begins = entry.begins || (part.flags & LogPart::kBegins) != 0;
      entry.ends = entry.ends || (part.flags & LogPart::kLast) != 0;
      if (entry.frames.empty()) {
        entry.frames.push_back({.frame = static_cast<std::uint32_t>(frames_.size())});
      }
      ++entry.frames.back().parts;
    }
    entry.frames.back().bytes = text.size() - begin;
    entries_.push_back(std::move(entry));
    grams.Add(std::string_view(text).substr(begin));
  }
  std::string raw;
  PutVarint(raw, groups);
  raw += heads;
  raw += text;
  const std::string packed = Compress(raw);
  frames_.push_back({.offset = out_.size(),
                     .bytes = packed.size(),
                     .unpacked = raw.size(),
                     .text_bytes = text.size(),
                     .first_item = waiting_.front().who.item,
                     .last_item = waiting_.back().who.item,
                     .filter = grams.Make(std::max(kFilterLeast, packed.size() / kFilterShare))});
  out_ += packed;
  waiting_.clear();
  text_.clear();
}

std::string PackWriter::PackDirectory() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const PackEntry& a, const PackEntry& b) { return a.who < b.who; });
  std::vector<PackEntry> merged;
  for (PackEntry& entry : entries_) {
    if (merged.empty() || merged.back().who != entry.who) {
      merged.push_back(std::move(entry));
      continue;
    }
    merged.back().begins = merged.back().begins || entry.begins;
    merged.back().ends = merged.back().ends || entry.ends;
    merged.back().frames.push_back(entry.frames.front());
  }
  entries_ = std::move(merged);
  std::string out;
  PutVarint(out, entries_.size());
  std::int64_t item = 0;
  std::int64_t time = 0;
  for (const PackEntry& entry : entries_) {
    PutSigned(out, entry.who.item - std::exchange(item, entry.who.item));
    PutVarint(out, static_cast<std::uint64_t>(entry.who.round));
    PutVarint(out, static_cast<std::uint64_t>(entry.who.attempt));
    PutVarint(out, (entry.begins ? LogPart::kBegins : 0) | (entry.ends ? LogPart::kLast : 0));
    PutSigned(out, entry.time_ms - std::exchange(time, entry.time_ms));
    PutVarint(out, entry.frames.size());
    std::uint32_t frame = 0;
    for (const PackEntry::In& in : entry.frames) {
      PutVarint(out, in.frame - std::exchange(frame, in.frame));
      PutVarint(out, in.parts);
      PutVarint(out, in.bytes);
    }
  }
  return Compress(out);
}

std::string PackWriter::PackTableBytes() const {
  std::string out;
  PutVarint(out, entries_.size());
  PutVarint(out, frames_.size());
  for (const PackFrame& frame : frames_) {
    PutVarint(out, frame.bytes);
    PutVarint(out, frame.unpacked);
    PutVarint(out, frame.text_bytes);
    PutSigned(out, frame.first_item);
    PutVarint(out, static_cast<std::uint64_t>(frame.last_item - frame.first_item));
    PutVarint(out, frame.filter.bytes().size());
    out += frame.filter.bytes();
  }
  return out;
}

std::string PackWriter::Finish() {
  CloseFrame();
  const std::string directory = PackDirectory();
  const std::string table = PackTableBytes();
  TIDEMILL_CHECK(frames_.size() <= kPackFramesMost);
  TIDEMILL_CHECK(table.size() <= kTableBytesMost);
  out_ += directory;
  out_ += table;
  PutFour(out_, static_cast<std::uint32_t>(table.size()));
  PutFour(out_, static_cast<std::uint32_t>(directory.size()));
  PutFour(out_, 1);
  out_ += "tmlp";
  return std::move(out_);
}

}  // namespace tidemill
