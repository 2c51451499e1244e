// SPDX-License-Identifier: Apache-2.0
#include "arrivals/said.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/digest.h"

namespace tidemill {

std::size_t Said::Hash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

Said::Digest Said::DigestOf(std::string_view once) {
  const std::string whole = Sha256(once);
  Digest digest{};
  std::memcpy(digest.data(), whole.data(), digest.size());
  return digest;
}

bool Said::Has(std::string_view once) const { return digests_.contains(DigestOf(once)); }

void Said::Add(std::string_view once) {
  if (digests_.size() < most_) digests_.insert(DigestOf(once));
}

bool ListingTimes::Begin(TimePoint now) {
  began_ = now;
  if (now - said_all_ < kSayAllEvery) return false;
  said_all_ = now;
  return true;
}

void ListingTimes::End(TimePoint now) {
  wait_ = kFirstWait;
  next_ = std::max(now, began_ + every_);
}

void ListingTimes::Break(TimePoint now) {
  next_ = now + std::min(wait_, every_);
  wait_ = std::min(wait_ * 2, every_);
}

}  // namespace tidemill
