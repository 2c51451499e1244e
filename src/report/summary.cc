// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/bytes.h"
#include "base/check.h"

namespace tidemill {
namespace {

constexpr std::string_view kSummaryMagic = "tmsu";
constexpr std::uint64_t kSummaryVersion = 2;
// Three full histograms with the longest numbers are 18 kB.
constexpr std::size_t kSummaryBytes = 24 * 1024;
// No job has as many attempts; and millions of such numbers can be added without overflow.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 40;

constexpr std::array kRanges = {
    &Summary::item,
    &Summary::attempt,
    &Summary::exit,
    &Summary::start_ms,
    &Summary::duration_range_ms,
    &Summary::cpu_ms,
    &Summary::memory_range_bytes,
};

bool Before(const TopItems::Entry& a, const TopItems::Entry& b) {
  return a.value != b.value ? a.value > b.value : a.item < b.item;
}

void PutHistogram(std::string& out, const Histogram& histogram) {
  std::uint64_t used = 0;
  for (int b = 0; b < Histogram::kBuckets; ++b) used += histogram.CountIn(b) != 0;
  PutVarint(out, used);
  int last = 0;
  for (int b = 0; b < Histogram::kBuckets; ++b) {
    if (histogram.CountIn(b) == 0) continue;
    PutVarint(out, b - last);
    PutVarint(out, histogram.CountIn(b));
    last = b;
  }
}

void PutRange(std::string& out, const ColumnRange& range) {
  const auto least = static_cast<std::uint64_t>(range.least);
  PutSigned(out, range.least);
  PutVarint(out, static_cast<std::uint64_t>(range.greatest) - least);
}

// Of what one processor does; 1500 is one and a half.
std::int64_t CpuMillis(const Outcome& row) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000;
  return std::min(row.cpu_ms, kMost) * 1000 / row.duration_ms;
}

void PutTop(std::string& out, const TopItems& top) {
  PutVarint(out, top.entries().size());
  for (const TopItems::Entry& entry : top.entries()) {
    PutVarint(out, entry.item);
    PutVarint(out, entry.value);
  }
}

// Reads what a summary is made of. Once something cannot be, ok() stays false.
class SummaryReader {
 public:
  explicit SummaryReader(std::string_view bytes) : reader_(bytes) {}

  bool ok() const { return good_ && reader_.ok(); }
  bool done() const { return reader_.done(); }
  void Expect(bool good) { good_ = good_ && good; }

  bool Head() {
    Expect(reader_.Take(kSummaryMagic.size()) == kSummaryMagic);
    version_ = reader_.Varint();
    Expect(version_ >= 1 && version_ <= kSummaryVersion);
    return ok();
  }
  std::uint64_t version() const { return version_; }

  std::int64_t Count() { return Number(kCountMax); }

  std::int64_t NotNegative() { return Number(std::numeric_limits<std::int64_t>::max()); }

  Histogram ReadHistogram() {
    Histogram histogram;
    const std::uint64_t used = reader_.Varint();
    Expect(used <= Histogram::kBuckets);
    std::int64_t bucket = 0;
    for (std::uint64_t i = 0; i < used && ok(); ++i) {
      const std::int64_t further = Number(Histogram::kBuckets);
      bucket += further;
      const std::int64_t times = Count();
      Expect(bucket < Histogram::kBuckets && (further > 0 || i == 0) && times > 0);
      if (ok()) histogram.Add(Histogram::LeastOf(static_cast<int>(bucket)), times);
    }
    return histogram;
  }

  TopItems ReadTop() {
    TopItems top;
    const std::uint64_t count = reader_.Varint();
    Expect(count <= TopItems::kKept);
    for (std::uint64_t i = 0; i < count && ok(); ++i) {
      const std::int64_t item = NotNegative();
      top.Add({item, NotNegative()});
    }
    Expect(top.entries().size() == count);  // or an item was there twice
    return top;
  }

  ColumnRange ReadRange() {
    ColumnRange range;
    range.least = reader_.Signed();
    const std::uint64_t width = reader_.Varint();
    range.greatest = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.least) + width);
    Expect(range.least <= range.greatest);
    return range;
  }

 private:
  std::int64_t Number(std::uint64_t most) {
    const std::uint64_t value = reader_.Varint();
    Expect(value <= most);
    return ok() ? static_cast<std::int64_t>(value) : 0;
  }

  ByteReader reader_;
  std::uint64_t version_ = 0;
  bool good_ = true;
};

}  // namespace

int Histogram::BucketOf(std::int64_t value) {
  if (value < 16) return static_cast<int>(std::max<std::int64_t>(value, 0));
  const int power = std::bit_width(static_cast<std::uint64_t>(value)) - 1;
  return 8 * (power - 2) + static_cast<int>(value >> (power - 3) & 7);
}

std::int64_t Histogram::LeastOf(int bucket) {
  if (bucket < 16) return bucket;
  return std::int64_t{8 + bucket % 8} << (bucket / 8 - 1);
}

std::int64_t Histogram::GreatestOf(int bucket) {
  if (bucket == kBuckets - 1) return std::numeric_limits<std::int64_t>::max();
  return LeastOf(bucket + 1) - 1;
}

void Histogram::Merge(const Histogram& other) {
  for (int b = 0; b < kBuckets; ++b) counts_[b] += other.counts_[b];
}

std::int64_t Histogram::Count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::optional<std::int64_t> Histogram::Quantile(double q) const {
  const std::int64_t count = Count();
  if (count == 0) return std::nullopt;
  const auto wanted =
      static_cast<std::int64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count)));
  std::int64_t before = 0;
  for (int b = 0; b < kBuckets; ++b) {
    before += counts_[b];
    if (before >= std::max<std::int64_t>(wanted, 1))
      return std::midpoint(LeastOf(b), GreatestOf(b));
  }
  return GreatestOf(kBuckets - 1);
}

void TopItems::Add(Entry entry) {
  const bool full = entries_.size() == kKept;
  if (full && !Before(entry, entries_.back())) return;
  const auto same = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& e) { return e.item == entry.item; });
  if (same != entries_.end()) {
    if (!Before(entry, *same)) return;
    entries_.erase(same);
  } else if (full) {
    entries_.pop_back();
  }
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry, Before), entry);
}

void TopItems::Merge(const TopItems& other) {
  for (const Entry& entry : other.entries_) Add(entry);
}

void ColumnRange::Add(std::int64_t value) {
  least = std::min(least, value);
  greatest = std::max(greatest, value);
}

void ColumnRange::Merge(const ColumnRange& other) {
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
}

std::int64_t Summary::Attempts() const {
  return std::accumulate(attempts.begin(), attempts.end(), std::int64_t{0});
}

void Summary::Add(const Outcome& row, bool ended) {
  const auto cause = static_cast<std::size_t>(row.cause);
  ++attempts[cause];
  if (ended) ++outcomes[cause];
  if (row.cause != Cause::kLost) {
    duration_ms.Add(row.duration_ms);
    memory_bytes.Add(row.memory_bytes);
    slowest.Add({row.item, row.duration_ms});
    largest.Add({row.item, row.memory_bytes});
    if (row.duration_ms >= 1) {
      const std::int64_t millis = CpuMillis(row);
      cpu_millis.Add(millis);
      cpu_range_millis.Add(millis);
    }
  }
  item.Add(row.item);
  attempt.Add(row.attempt);
  exit.Add(row.exit);
  start_ms.Add(row.start_ms);
  duration_range_ms.Add(row.duration_ms);
  cpu_ms.Add(row.cpu_ms);
  memory_range_bytes.Add(row.memory_bytes);
}

void Summary::Merge(const Summary& other) {
  for (int c = 0; c < kCauses; ++c) {
    attempts[c] += other.attempts[c];
    outcomes[c] += other.outcomes[c];
  }
  unreadable += other.unreadable;
  dropped += other.dropped;
  duration_ms.Merge(other.duration_ms);
  memory_bytes.Merge(other.memory_bytes);
  cpu_millis.Merge(other.cpu_millis);
  cpu_range_millis.Merge(other.cpu_range_millis);
  slowest.Merge(other.slowest);
  largest.Merge(other.largest);
  for (const auto range : kRanges) (this->*range).Merge(other.*range);
}

std::string Summary::Encode() const {
  std::string out;
  out.reserve(1024);
  out += kSummaryMagic;
  PutVarint(out, kSummaryVersion);
  PutVarint(out, kCauses);
  for (const std::int64_t count : attempts) PutVarint(out, count);
  for (const std::int64_t count : outcomes) PutVarint(out, count);
  PutVarint(out, unreadable);
  PutVarint(out, dropped);
  PutHistogram(out, duration_ms);
  PutHistogram(out, memory_bytes);
  PutTop(out, slowest);
  PutTop(out, largest);
  if (Attempts() > 0) {
    for (const auto range : kRanges) PutRange(out, this->*range);
  }
  PutHistogram(out, cpu_millis);
  if (cpu_millis.Count() > 0) PutRange(out, cpu_range_millis);
  TIDEMILL_CHECK(out.size() <= kSummaryBytes);
  return out;
}

Result<Summary> Summary::Decode(std::string_view bytes) {
  if (bytes.size() > kSummaryBytes) return Fail(Code::kInvalid, "too large for a summary");
  SummaryReader reader(bytes);
  if (!reader.Head()) return Fail(Code::kInvalid, "not a summary of version 1 or 2");
  Summary summary;
  const std::int64_t causes = reader.Count();
  reader.Expect(causes <= kCauses);
  for (std::int64_t c = 0; c < causes && reader.ok(); ++c) summary.attempts[c] = reader.Count();
  for (std::int64_t c = 0; c < causes && reader.ok(); ++c) summary.outcomes[c] = reader.Count();
  summary.unreadable = reader.Count();
  summary.dropped = reader.Count();
  summary.duration_ms = reader.ReadHistogram();
  summary.memory_bytes = reader.ReadHistogram();
  summary.slowest = reader.ReadTop();
  summary.largest = reader.ReadTop();
  if (summary.Attempts() > 0) {
    for (const auto range : kRanges) summary.*range = reader.ReadRange();
  }
  if (reader.version() >= 2) {
    summary.cpu_millis = reader.ReadHistogram();
    if (summary.cpu_millis.Count() > 0) summary.cpu_range_millis = reader.ReadRange();
  }
  if (!reader.ok() || !reader.done()) return Fail(Code::kInvalid, "a broken summary");
  return summary;
}

}  // namespace tidemill
