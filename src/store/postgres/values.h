// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "base/bits.h"
#include "base/id.h"
#include "base/loop.h"
#include "base/result.h"

namespace tidemill {

// The parameters of one statement, in PostgreSQL's binary format. Each call adds the next one.
class Params {
 public:
  Params& Int(std::int32_t value);
  Params& Big(std::int64_t value);
  Params& Flag(bool value);
  Params& Text(std::string_view value);
  Params& Bytes(std::string_view value);
  template <typename Tag>
  Params& Uuid(const Id<Tag>& id) {
    Begin(kUuid);
    AppendUuid(id.high, id.low);
    return End();
  }

  // Arrays: unnest() makes many rows of one statement of them.
  Params& Ints(const std::vector<std::int32_t>& values);
  Params& Bigs(const std::vector<std::int64_t>& values);
  Params& BitStrings(const std::vector<Bits>& values);
  Params& BytesList(const std::vector<std::string_view>& values);
  template <typename Tag>
  Params& Uuids(const std::vector<Id<Tag>>& ids) {
    BeginArray(kUuid, ids.size());
    for (const Id<Tag>& id : ids) {
      AppendInt(16);
      AppendUuid(id.high, id.low);
    }
    return End();
  }

  int count() const { return static_cast<int>(types_.size()); }
  const Oid* types() const { return types_.data(); }
  // Valid until the next change.
  std::vector<const char*> Values() const;
  const int* Lengths() const { return lengths_.data(); }

 private:
  static constexpr Oid kUuid = 2950;
  void Begin(Oid type);
  void BeginArray(Oid element, std::size_t size);
  Params& End();
  void AppendInt(std::int32_t value);
  void AppendBig(std::int64_t value);
  void AppendUuid(std::uint64_t high, std::uint64_t low);
  void AppendBits(const Bits& bits);

  std::string bytes_;
  std::vector<std::size_t> starts_;
  std::vector<int> lengths_;
  std::vector<Oid> types_;
};

// One row of an answer, read from left to right in the order of its columns. A column of another
// type than is read is a bug of ours and aborts: statement and reader stand side by side.
class Row {
 public:
  Row(const PGresult* result, int row) : result_(result), row_(row) {}
  std::int16_t Small();
  std::int32_t Int();
  std::int64_t Big();
  bool Flag();
  std::string Text();
  Bits BitString();
  template <typename IdType>
  IdType Uuid() {
    const std::string_view bytes = Next(16);
    return IdType{BigEndian(bytes.substr(0, 8)), BigEndian(bytes.substr(8))};
  }
  // Microseconds since 1970.
  std::int64_t Time();

 private:
  std::string_view Next(int size);
  std::string_view NextAny();
  static std::uint64_t BigEndian(std::string_view bytes);

  const PGresult* result_;
  int row_;
  int column_ = 0;
};

// The answer to one statement.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &PQclear) {}
  int size() const { return PQntuples(result_.get()); }
  bool empty() const { return size() == 0; }
  Row operator[](int row) const { return Row(result_.get(), row); }
  // How many rows an insert, update or delete has touched.
  std::int64_t touched() const;
  const PGresult* get() const { return result_.get(); }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

}  // namespace tidemill
