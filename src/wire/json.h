// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only: no other module sees the library behind it.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/bits.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/result.h"

namespace tidemill::json {

using Value = nlohmann::json;

// Bounds of fields that become an int32.
inline constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

// One value, and nothing after it. kInvalid: not JSON, nested deeper than kDepth, a field twice, or
// an integer that no 64 bits hold (it would change its value unseen).
inline constexpr std::size_t kDepth = 32;
// The word for where the next page begins.
inline constexpr std::size_t kNextBytes = 64;
Result<Value> Parse(std::string_view text);

// Where a value stands; made on the stack on the way down, written out only for an error.
struct Path {
  const Path* up = nullptr;
  std::string_view name = {};
  std::size_t index = 0;  // of an element, if there is no name
  std::string Text() const;
};

// kInvalid, as "settlements[3].ok: not base64".
tl::unexpected<Error> Wrong(const Path& path, std::string_view why);

struct Whole {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::optional<std::int64_t> absent = {};  // what its absence means; else it must be there
};

struct Words {
  std::size_t most_bytes = 0;
  std::optional<std::string_view> absent = {};
};

// The fields of one object. Borrows the value and the path. Each getter gives kInvalid, with the
// field's path, for a field that is missing or is not what it should be.
class Fields {
 public:
  static Result<Fields> Of(const Value& value, const Path& path);

  // Names the first field that is not among `known`, and the one that it might have been.
  Result<void> Only(std::initializer_list<std::string_view> known) const;

  // Null if it is absent.
  const Value* Find(std::string_view name) const;
  Result<std::int64_t> Int(std::string_view name, Whole bounds) const;
  Result<bool> Flag(std::string_view name, std::optional<bool> absent) const;
  // Not empty, and without control characters, unless `absent` says so.
  Result<std::string_view> Text(std::string_view name, Words bounds) const;
  // Base64, decoded; empty if it is absent.
  Result<std::string> Bytes(std::string_view name, std::size_t most) const;
  // A set of offsets; empty if it is absent.
  Result<Bits> Runs(std::string_view name, int length) const;
  // Processors, in thousandths.
  Result<std::int64_t> Millicpus(std::string_view name, Whole bounds) const;
  // An array; null if it is absent.
  Result<const Value*> Array(std::string_view name, std::size_t most) const;
  // The fields of the object in a field, whose own path is made by the caller with In.
  Path In(std::string_view name) const { return {&path_, name, 0}; }

  template <typename IdType>
  Result<IdType> Id(std::string_view name) const {
    TIDEMILL_TRY(const std::string_view text, Text(name, {.most_bytes = 36}));
    const auto id = ParseId<IdType>(text);
    if (!id) return Wrong(In(name), "not a UUID");
    return *id;
  }

 private:
  Fields(const Value& object, const Path& path) : object_(&object), path_(path) {}

  const Value* object_;
  Path path_;
};

// An integer within its bounds.
Result<std::int64_t> IntOf(const Value& value, const Path& path, Whole bounds);

// Calls read(fields) for each object of an array; an array that is absent has none.
template <typename Read>
Result<void> ReadEach(const Fields& fields, std::string_view name, std::size_t most, Read read) {
  TIDEMILL_TRY(const Value* array, fields.Array(name, most));
  if (array == nullptr) return {};
  const Path in_array = fields.In(name);
  Path path{&in_array, {}, 0};
  for (const Value& value : *array) {
    TIDEMILL_TRY(const Fields element, Fields::Of(value, path));
    TIDEMILL_TRY_VOID(read(element));
    ++path.index;
  }
  return {};
}

// The strings of an array that is absent, or has no other elements than those that are good.
template <typename IsGood>
Result<std::vector<std::string>> ReadStrings(const Fields& fields, std::string_view name,
                                             std::size_t most, IsGood is_good,
                                             std::string_view what_else) {
  std::vector<std::string> strings;
  TIDEMILL_TRY(const Value* array, fields.Array(name, most));
  if (array == nullptr) return strings;
  for (const Value& value : *array) {
    const bool good = value.is_string() && is_good(value.get_ref<const std::string&>());
    if (!good) return Wrong(fields.In(name), std::string(what_else));
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

// A field of an object whose text ends with `out`, with the comma that it needs.
void AppendNumber(std::string& out, std::string_view field, std::int64_t number);
void AppendText(std::string& out, std::string_view field, std::string_view text);
void AppendFlag(std::string& out, std::string_view field, bool flag);
void AppendStrings(std::string& out, std::string_view field,
                   const std::vector<std::string>& strings);
// What is JSON already.
void AppendValue(std::string& out, std::string_view field, std::string_view json);

// Text in quotes, escaped; what is not UTF-8 is replaced.
std::string Quoted(std::string_view text);
// 1.5 for 1500.
std::string Cpus(std::int64_t millicpus);

}  // namespace tidemill::json
