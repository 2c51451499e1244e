// SPDX-License-Identifier: Apache-2.0
#include "report/block.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::string_view kBlockMagic = "tmob";
constexpr std::uint64_t kBlockVersion = 1;
// Agents pack small blocks, often. Of 40 rows, level 1 takes twice the time for the same bytes; of
// a chunk's, to save one byte in twenty.
constexpr int kLevel = -1;

// The numbers are in blocks that outlive every server: never use one again.
enum Column : std::uint64_t {
  kItem = 1,
  kAttempt = 2,
  kCause = 3,
  kExit = 4,
  kStart = 5,
  kDuration = 6,
  kCpu = 7,
  kMemory = 8,
  kMachine = 9,
  kRound = 10,
  kLog = 11,
  kError = 12,
  kResult = 13,
  kDevices = 14,
};
constexpr std::size_t kColumns = 15;  // 0 stays empty

std::uint64_t NotNegative(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

// Differences wrap, so that any two numbers have one.
std::int64_t Minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t Plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

class BlockWriter {
 public:
  explicit BlockWriter(std::span<const Outcome> rows) : rows_(rows) {
    out_.reserve(64 + rows.size() * 24);
    data_.reserve(64 + rows.size() * 5);
    out_ += kBlockMagic;
    PutVarint(out_, kBlockVersion);
    PutVarint(out_, rows.size());
  }

  // A column of what `number` gives for each row, unless that is always `absent`.
  template <typename Number>
  void Put(Column column, std::uint64_t absent, Number number) {
    bool needed = false;
    for (const Outcome& row : rows_) {
      const std::uint64_t value = number(row);
      needed = needed || value != absent;
      PutVarint(data_, value);
    }
    Close(column, needed);
  }

  template <typename Number>
  void PutSignedColumn(Column column, Number number) {
    bool needed = column == kItem;
    for (const Outcome& row : rows_) {
      const std::int64_t value = number(row);
      needed = needed || value != 0;
      PutSigned(data_, value);
    }
    Close(column, needed);
  }

  // A column of texts, of which many are the same.
  void PutTexts(Column column, std::string Outcome::* member, std::size_t most_bytes) {
    std::unordered_map<std::string_view, std::uint64_t> numbers;
    std::string names;
    std::string_view last;
    std::uint64_t number = 0;
    for (const Outcome& row : rows_) {
      if (numbers.empty() || row.*member != last) {
        last = row.*member;
        TIDEMILL_CHECK(last.size() <= most_bytes);
        const auto [found, added] = numbers.try_emplace(last, numbers.size());
        number = found->second;
        if (added) {
          PutVarint(names, last.size());
          names += last;
        }
      }
      PutVarint(data_, number);
    }
    const bool needed = numbers.size() > 1 || !last.empty();
    std::string all;
    PutVarint(all, numbers.size());
    all += names;
    all += data_;
    data_ = std::move(all);
    Close(column, needed);
  }

  const std::string& bytes() const { return out_; }

 private:
  void Close(Column column, bool needed) {
    if (needed) {
      PutVarint(out_, column);
      PutVarint(out_, data_.size());
      out_ += data_;
    }
    data_.clear();
  }

  const std::span<const Outcome> rows_;
  std::string out_;
  std::string data_;  // of the column being written
};

class BlockReader {
 public:
  explicit BlockReader(std::string_view bytes) : reader_(bytes) {}

  Result<std::vector<Outcome>> Read() {
    TIDEMILL_TRY_VOID(ReadHead());
    TIDEMILL_TRY_VOID(ReadColumns());
    // Every row has its byte in `item`, so there are no more rows than bytes.
    if (count_ > 0 && columns_[kItem].empty()) {
      return Fail(Code::kInvalid, "a block without the column of items");
    }
    rows_.resize(count_);
    ReadDifferences(kItem, &Outcome::item);
    ReadNumbers(kRound, &Outcome::round);
    ReadNumbers(kAttempt, &Outcome::attempt);
    ReadCauses();
    ReadExits();
    ReadDifferences(kStart, &Outcome::start_ms);
    ReadNumbers(kDuration, &Outcome::duration_ms);
    ReadNumbers(kCpu, &Outcome::cpu_ms);
    ReadNumbers(kMemory, &Outcome::memory_bytes);
    ReadTexts(kMachine, &Outcome::machine, limits::kMachineNameBytes);
    ReadTexts(kLog, &Outcome::log, kLogNameBytes);
    ReadTexts(kError, &Outcome::error, kErrorBytes);
    ReadTexts(kResult, &Outcome::result, kResultBytes);
    ReadTexts(kDevices, &Outcome::devices, kOutcomeDevicesBytes);
    if (bad_ != 0) {
      return Fail(Code::kInvalid, "a block whose column " + std::to_string(bad_) + " is broken");
    }
    return std::move(rows_);
  }

 private:
  Result<void> ReadHead() {
    if (reader_.Take(kBlockMagic.size()) != kBlockMagic)
      return Fail(Code::kInvalid, "not a column block");
    const std::uint64_t version = reader_.Varint();
    if (reader_.ok() && version != kBlockVersion) {
      return Fail(Code::kInvalid,
                  "a block of version " + std::to_string(version) + ", only 1 is known");
    }
    count_ = reader_.Varint();
    if (!reader_.ok()) return Fail(Code::kInvalid, "a block that ends early");
    if (count_ > kBlockRows) return Fail(Code::kInvalid, "a block of too many rows");
    return {};
  }

  // Finds the columns; what is in them is read when all are known.
  Result<void> ReadColumns() {
    std::array<bool, kColumns> seen{};
    while (!reader_.done()) {
      const std::uint64_t id = reader_.Varint();
      const std::string_view data = reader_.Take(reader_.Varint());
      if (!reader_.ok()) return Fail(Code::kInvalid, "a block that ends early");
      if (id >= kColumns) continue;  // of a newer writer
      if (std::exchange(seen[id], true)) return Fail(Code::kInvalid, "a block with a column twice");
      columns_[id] = data;
    }
    return {};
  }

  // Reads a value for each row; `read` says whether it can be.
  template <typename Read>
  void ReadEach(Column column, Read read) {
    if (columns_[column].empty()) return;
    ByteReader data(columns_[column]);
    bool good = true;
    for (Outcome& row : rows_) good = read(data, row) && good;
    Check(column, good && data.ok() && data.done());
  }

  void ReadDifferences(Column column, std::int64_t Outcome::* member) {
    std::int64_t last = 0;
    ReadEach(column, [&](ByteReader& data, Outcome& row) {
      last = Plus(last, data.Signed());
      row.*member = last;
      return column != kItem || last >= 0;
    });
  }

  template <typename Number>
  void ReadNumbers(Column column, Number Outcome::* member) {
    ReadEach(column, [&](ByteReader& data, Outcome& row) {
      const std::uint64_t value = data.Varint();
      row.*member = static_cast<Number>(value);
      return value <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
    });
  }

  void ReadCauses() {
    ReadEach(kCause, [](ByteReader& data, Outcome& row) {
      const std::uint64_t value = data.Varint();
      if (value >= kCauses) return false;
      row.cause = static_cast<Cause>(value);
      return true;
    });
  }

  void ReadExits() {
    ReadEach(kExit, [](ByteReader& data, Outcome& row) {
      const std::int64_t value = data.Signed();
      row.exit = static_cast<std::int32_t>(value);
      return value == row.exit;
    });
  }

  void ReadTexts(Column column, std::string Outcome::* member, std::size_t most_bytes) {
    if (columns_[column].empty()) return;
    ByteReader data(columns_[column]);
    const std::uint64_t count = data.Varint();
    if (count > count_) return Check(column, false);
    std::vector<std::string_view> names;
    for (std::uint64_t i = 0; i < count && data.ok(); ++i) {
      const std::uint64_t size = data.Varint();
      if (size > most_bytes) return Check(column, false);
      names.push_back(data.Take(size));
    }
    for (Outcome& row : rows_) {
      const std::uint64_t number = data.Varint();
      if (!data.ok() || number >= names.size()) return Check(column, false);
      row.*member = names[number];
    }
    Check(column, data.ok() && data.done());
  }

  void Check(Column column, bool good) {
    if (!good && bad_ == 0) bad_ = column;
  }

  ByteReader reader_;
  std::uint64_t count_ = 0;
  std::array<std::string_view, kColumns> columns_;
  std::vector<Outcome> rows_;
  std::uint64_t bad_ = 0;  // the first column that could not be read
};

}  // namespace

std::string EncodeBlock(std::span<const Outcome> rows) {
  TIDEMILL_CHECK(rows.size() <= kBlockRows);
  BlockWriter writer(rows);
  std::int64_t last_item = 0;
  writer.PutSignedColumn(kItem, [&](const Outcome& row) {
    const auto item = static_cast<std::int64_t>(NotNegative(row.item));
    return item - std::exchange(last_item, item);
  });
  writer.Put(kAttempt, 1, [](const Outcome& row) { return NotNegative(row.attempt); });
  writer.Put(kCause, 0, [](const Outcome& row) { return static_cast<std::uint64_t>(row.cause); });
  writer.PutSignedColumn(kExit, [](const Outcome& row) { return row.exit; });
  std::int64_t last_start = 0;
  writer.PutSignedColumn(kStart, [&](const Outcome& row) {
    return Minus(row.start_ms, std::exchange(last_start, row.start_ms));
  });
  writer.Put(kDuration, 0, [](const Outcome& row) { return NotNegative(row.duration_ms); });
  writer.Put(kCpu, 0, [](const Outcome& row) { return NotNegative(row.cpu_ms); });
  writer.Put(kMemory, 0, [](const Outcome& row) { return NotNegative(row.memory_bytes); });
  writer.PutTexts(kMachine, &Outcome::machine, limits::kMachineNameBytes);
  writer.Put(kRound, 0, [](const Outcome& row) { return NotNegative(row.round); });
  writer.PutTexts(kLog, &Outcome::log, kLogNameBytes);
  writer.PutTexts(kError, &Outcome::error, kErrorBytes);
  writer.PutTexts(kResult, &Outcome::result, kResultBytes);
  writer.PutTexts(kDevices, &Outcome::devices, kOutcomeDevicesBytes);
  return Compress(writer.bytes(), kLevel);
}

Result<std::vector<Outcome>> DecodeBlock(std::string_view frame) {
  TIDEMILL_TRY(const std::string bytes, Decompress(frame, kBlockBytes));
  return BlockReader(bytes).Read();
}

}  // namespace tidemill
