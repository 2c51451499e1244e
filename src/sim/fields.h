// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tidemill {

template <typename Struct, typename Member>
struct Field {
  const char* name;
  Member Struct::* member;
};

// The fields of a plain struct, as a tuple of Field; specialized for those that have such a list.
template <typename Struct>
inline constexpr std::tuple<> kFields;

template <typename Struct>
inline constexpr std::size_t kListed = std::tuple_size_v<decltype(kFields<Struct>)>;

template <typename Struct>
concept Listed = std::is_class_v<Struct> && (kListed<Struct> > 0);

// Calls visit(name, pointer to member) for each, in order.
template <Listed Struct, typename Visit>
void EachField(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, field.member), ...); },
             kFields<Struct>);
}

// How many fields a plain struct has: with one value too many it cannot be made. So that a list
// can be held against its struct, and no field be forgotten.
struct AnyValue {
  template <typename T>
  operator T() const;
};
template <typename Struct, typename... Values>
consteval std::size_t CountFields() {
  if constexpr (requires { Struct{Values{}..., AnyValue{}}; }) {
    return CountFields<Struct, Values..., AnyValue>();
  } else {
    return sizeof...(Values);
  }
}

}  // namespace tidemill
