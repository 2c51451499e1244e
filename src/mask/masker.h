// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// Knows some patterns, and finds them in a text. Each byte of the text that any occurrence of any
// pattern covers is hidden, and each longest run of hidden bytes becomes `***`.
//
// It is a tree of the patterns (Aho and Corasick): the node at which a text stands is the longest
// end of the text that begins a pattern. A node takes 24 bytes, and there are at most as many as
// the patterns have bytes: some tens of thousands for a few keys, 6 million (150 MB) for the most
// and largest secrets that a job may have. Constant after construction: any thread may use it, and
// all attempts of a job share it. Wiped at its end.
class Masker {
 public:
  // No pattern is empty.
  explicit Masker(const std::set<std::string>& patterns);
  // Of what AddPatterns makes of these.
  static Masker OfSecrets(const std::vector<std::string>& secrets);
  ~Masker();
  Masker(Masker&&) = default;
  Masker(const Masker&) = delete;
  Masker& operator=(const Masker&) = delete;

  bool empty() const { return nodes_.size() == 1; }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  friend class MaskedText;
  using NodeId = std::uint32_t;
  static constexpr NodeId kRoot = 0;
  struct Node {
    NodeId child = kRoot;     // the first; kRoot: none
    NodeId sibling = kRoot;   // the next child of its parent
    NodeId fail = kRoot;      // the node of the longest end of this one's text that is another's
    std::uint32_t match = 0;  // the length of the longest pattern that ends here; 0: none
    std::uint32_t open = 0;   // how many of the last bytes a pattern may cover that goes on
    unsigned char byte = 0;   // the last of its text
  };

  void Add(std::string_view pattern);
  void Link();
  NodeId ChildOf(NodeId node, unsigned char byte) const;
  NodeId Step(NodeId node, unsigned char byte) const;
  // The first place from `at` where a pattern may begin.
  std::size_t Skip(std::string_view text, std::size_t at) const;

  std::vector<Node> nodes_;
  std::array<NodeId, 256> first_{};  // the children of the root
  std::bitset<65536> pairs_;         // two bytes with which a pattern begins
};

// One text on its way through a masker, in pieces of any size. Holds no more than the longest
// pattern: a byte is let through as soon as no pattern that has begun before it, and goes on, could
// cover it. So a text that waits for an answer is held back only if its end is the beginning of a
// secret, and then nothing but more text can tell.
class MaskedText {
 public:
  // `masker` must outlive it.
  explicit MaskedText(const Masker& masker) : masker_(&masker) {}

  // What can be let through now.
  std::string Feed(std::string_view bytes);
  // The rest: the text is over. What is fed next is a new one.
  std::string Flush();
  // From now on with this one. A pattern of the one before that it does not know may be let
  // through.
  void Use(const Masker& masker);
  std::size_t held_bytes() const { return held_.size(); }

 private:
  struct Range {
    std::size_t begin;
    std::size_t end;
  };

  void Scan(std::string_view text, std::size_t from);
  void Hide(Range range);
  // Writes the first `size` bytes of the text, and forgets what is hidden there.
  void Release(std::string_view text, std::size_t size, std::string& out);

  const Masker* masker_;
  Masker::NodeId node_ = Masker::kRoot;
  std::string held_;
  std::vector<Range> hidden_;  // in what is held; ascending and apart
  bool in_hidden_ = false;     // the last byte that was let through was a hidden one
};

}  // namespace tidemill
