// SPDX-License-Identifier: Apache-2.0
#include "mask/masker.h"

#include <string.h>

#include <algorithm>

#include "base/check.h"
#include "base/wipe.h"
#include "mask/patterns.h"

namespace tidemill {
namespace {

constexpr std::string_view kStars = "***";

std::size_t PairOf(char first, char second) {
  return std::size_t{static_cast<unsigned char>(first)} << 8 | static_cast<unsigned char>(second);
}

// In their order, each has a node for each byte behind what it shares with the one before it.
std::size_t NodesOf(const std::set<std::string>& patterns) {
  std::size_t nodes = 1;
  std::string_view last;
  for (const std::string& pattern : patterns) {
    const auto differ = std::mismatch(pattern.begin(), pattern.end(), last.begin(), last.end());
    nodes += static_cast<std::size_t>(pattern.end() - differ.first);
    last = pattern;
  }
  return nodes;
}

}  // namespace

Masker::Masker(const std::set<std::string>& patterns) : nodes_(1) {
  const std::size_t nodes = NodesOf(patterns);
  TIDEMILL_CHECK(nodes < UINT32_MAX);
  // Memory that a growing vector gives back would not be wiped.
  nodes_.reserve(nodes);
  for (const std::string& pattern : patterns) Add(pattern);
  TIDEMILL_CHECK(nodes_.size() == nodes);
  Link();
}

Masker Masker::OfSecrets(const std::vector<std::string>& secrets) {
  std::set<std::string> patterns;
  for (const std::string& secret : secrets) AddPatterns(secret, patterns);
  Masker masker(patterns);
  while (!patterns.empty()) Wipe(patterns.extract(patterns.begin()).value());
  return masker;
}

Masker::~Masker() {
  if (!nodes_.empty()) explicit_bzero(nodes_.data(), nodes_.size() * sizeof(Node));
}

Masker::NodeId Masker::ChildOf(NodeId node, unsigned char byte) const {
  if (node == kRoot) return first_[byte];
  NodeId child = nodes_[node].child;
  while (child != kRoot && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

void Masker::Add(std::string_view pattern) {
  TIDEMILL_CHECK(!pattern.empty());
  NodeId node = kRoot;
  for (const char c : pattern) {
    const auto byte = static_cast<unsigned char>(c);
    NodeId child = ChildOf(node, byte);
    if (child == kRoot) {
      child = static_cast<NodeId>(nodes_.size());
      nodes_.push_back({.sibling = nodes_[node].child, .byte = byte});
      nodes_[node].child = child;
      if (node == kRoot) first_[byte] = child;
    }
    node = child;
  }
  nodes_[node].match = static_cast<std::uint32_t>(pattern.size());
  if (pattern.size() > 1) {
    pairs_.set(PairOf(pattern[0], pattern[1]));
  } else {
    for (int second = 0; second < 256; ++second) {
      pairs_.set(PairOf(pattern[0], static_cast<char>(second)));
    }
  }
}

// Level by level: what a node falls back to is nearer to the root.
void Masker::Link() {
  std::vector<NodeId> level{kRoot};
  for (std::uint32_t depth = 0; !level.empty(); ++depth) {
    std::vector<NodeId> next;
    for (const NodeId parent : level) {
      Node& node = nodes_[parent];
      const Node& fail = nodes_[node.fail];
      node.match = std::max(node.match, fail.match);
      node.open = node.child != kRoot ? depth : fail.open;
      for (NodeId child = node.child; child != kRoot; child = nodes_[child].sibling) {
        if (parent != kRoot) nodes_[child].fail = Step(node.fail, nodes_[child].byte);
        next.push_back(child);
      }
    }
    level = std::move(next);
  }
}

Masker::NodeId Masker::Step(NodeId node, unsigned char byte) const {
  while (true) {
    const NodeId child = ChildOf(node, byte);
    if (child != kRoot || node == kRoot) return child;
    node = nodes_[node].fail;
  }
}

std::size_t Masker::Skip(std::string_view text, std::size_t at) const {
  for (; at + 1 < text.size(); ++at) {
    if (pairs_.test(PairOf(text[at], text[at + 1]))) return at;
  }
  if (at < text.size() && first_[static_cast<unsigned char>(text[at])] == kRoot) ++at;
  return at;
}

std::string MaskedText::Feed(std::string_view bytes) {
  std::string out;
  // What is not held back is not copied.
  const std::size_t from = held_.size();
  if (from > 0) held_.append(bytes);
  const std::string_view text = from > 0 ? std::string_view(held_) : bytes;
  Scan(text, from);
  const std::size_t size = text.size() - masker_->nodes_[node_].open;
  Release(text, size, out);
  if (from > 0) {
    held_.erase(0, size);
  } else {
    held_.assign(text.substr(size));
  }
  return out;
}

std::string MaskedText::Flush() {
  std::string out;
  Release(held_, held_.size(), out);
  held_.clear();
  node_ = Masker::kRoot;
  in_hidden_ = false;
  return out;
}

void MaskedText::Use(const Masker& masker) {
  masker_ = &masker;
  node_ = Masker::kRoot;
  // All but what begins in a part that is let through is found again.
  const bool goes_on = !hidden_.empty() && hidden_.front().begin == 0;
  hidden_.resize(goes_on ? 1 : 0);
  Scan(held_, 0);
}

void MaskedText::Scan(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    if (node_ == Masker::kRoot) {
      at = masker_->Skip(text, at);
      if (at == text.size()) return;
    }
    node_ = masker_->Step(node_, static_cast<unsigned char>(text[at]));
    ++at;
    const std::size_t match = masker_->nodes_[node_].match;
    if (match > 0) Hide({at - match, at});
  }
}

// Each ends behind those before it, but for one that was begun with another masker.
void MaskedText::Hide(Range range) {
  while (!hidden_.empty() && hidden_.back().end >= range.begin) {
    range.begin = std::min(range.begin, hidden_.back().begin);
    range.end = std::max(range.end, hidden_.back().end);
    hidden_.pop_back();
  }
  hidden_.push_back(range);
}

void MaskedText::Release(std::string_view text, std::size_t size, std::string& out) {
  std::size_t at = 0;
  std::size_t done = 0;  // of `hidden_`
  for (const Range& range : hidden_) {
    if (range.begin >= size) break;
    if (range.begin > at) in_hidden_ = false;
    out.append(text.substr(at, range.begin - at));
    if (!in_hidden_) out.append(kStars);
    in_hidden_ = true;
    at = std::min(range.end, size);
    if (range.end > size) break;
    ++done;
  }
  if (at < size) in_hidden_ = false;
  out.append(text.substr(at, size - at));
  hidden_.erase(hidden_.begin(), hidden_.begin() + static_cast<std::ptrdiff_t>(done));
  for (Range& range : hidden_) {
    range.begin = range.begin > size ? range.begin - size : 0;
    range.end -= size;
  }
}

}  // namespace tidemill
