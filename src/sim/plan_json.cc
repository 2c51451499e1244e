// SPDX-License-Identifier: Apache-2.0
#include "sim/plan_json.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "sim/plan_fields.h"
#include "wire/nearest.h"
#include "wire/tree.h"

namespace tidemill {
namespace {

// The unit stands in the name.
template <typename Member>
std::string NameOf(const char* name) {
  std::string out = name;
  if constexpr (std::same_as<Member, Duration>) out += "_us";
  if constexpr (std::same_as<Member, Money>) out += "_micros";
  return out;
}

template <typename T>
concept Plain = std::same_as<T, bool> || std::same_as<T, double> || std::same_as<T, std::string>;

template <Plain T>
Tree Write(const T& value) {
  return Tree(value);
}
template <std::signed_integral T>
Tree Write(T value) {
  return Tree(std::int64_t{value});
}
Tree Write(std::uint64_t value) { return TreeOf(value); }
Tree Write(Duration value) { return Tree(std::int64_t{value.count()}); }
Tree Write(Money value) { return Tree(value.micros); }
template <Listed T>
Tree Write(const T& value);

template <typename T>
Tree Write(const std::vector<T>& values) {
  Tree::List list;
  for (const T& value : values) list.push_back(Write(value));
  return Tree(std::move(list));
}

template <Listed T>
Tree Write(const T& value) {
  Tree::Object object;
  EachField<T>([&]<typename Member>(const char* name, Member T::* member) {
    object.emplace_back(NameOf<Member>(name), Write(value.*member));
  });
  return Tree(std::move(object));
}

tl::unexpected<Error> Wrong(const std::string& place, std::string_view why) {
  return Fail(Code::kInvalid, (place.empty() ? "the plan" : place) + ": " + std::string(why));
}

// Each reads a value at a place, which its errors name.
Result<void> Read(const Tree& tree, const std::string& place, bool& out) {
  const auto* flag = std::get_if<bool>(&tree.value);
  if (flag == nullptr) return Wrong(place, "must be true or false");
  out = *flag;
  return {};
}

Result<void> Read(const Tree& tree, const std::string& place, std::string& out) {
  const auto* text = std::get_if<std::string>(&tree.value);
  if (text == nullptr) return Wrong(place, "must be a string");
  out = *text;
  return {};
}

// A rate. Those above 1 are 'always'.
Result<void> Read(const Tree& tree, const std::string& place, double& out) {
  if (const auto* number = std::get_if<double>(&tree.value)) {
    out = *number;
  } else if (const auto* whole = std::get_if<std::int64_t>(&tree.value)) {
    out = static_cast<double>(*whole);
  } else {
    return Wrong(place, "must be a number");
  }
  if (out < 0) return Wrong(place, "must not be negative");
  return {};
}

template <std::integral T>
  requires(!Plain<T>)
Result<void> Read(const Tree& tree, const std::string& place, T& out) {
  const auto take = [&](auto number) -> Result<void> {
    if (!std::in_range<T>(number)) return Wrong(place, "is out of its range");
    out = static_cast<T>(number);
    return {};
  };
  if (const auto* number = std::get_if<std::int64_t>(&tree.value)) return take(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&tree.value)) return take(*number);
  return Wrong(place, "must be an integer");
}

Result<void> Read(const Tree& tree, const std::string& place, Duration& out) {
  std::int64_t number = 0;
  TIDEMILL_TRY_VOID(Read(tree, place, number));
  if (number < 0) return Wrong(place, "must not be negative");
  out = Duration(number);
  return {};
}

Result<void> Read(const Tree& tree, const std::string& place, Money& out) {
  return Read(tree, place, out.micros);
}

template <Listed T>
Result<void> Read(const Tree& tree, const std::string& place, T& out);

template <typename T>
Result<void> Read(const Tree& tree, const std::string& place, std::vector<T>& out) {
  const auto* list = std::get_if<Tree::List>(&tree.value);
  if (list == nullptr) return Wrong(place, "must be an array");
  out.clear();
  for (const Tree& element : *list) {
    T value{};
    TIDEMILL_TRY_VOID(Read(element, place + "[" + std::to_string(out.size()) + "]", value));
    out.push_back(std::move(value));
  }
  return {};
}

template <Listed T>
Result<void> Read(const Tree& tree, const std::string& place, T& out) {
  const auto* object = std::get_if<Tree::Object>(&tree.value);
  if (object == nullptr) return Wrong(place, "must be an object");
  std::vector<std::string> known;
  Result<void> result;
  EachField<T>([&]<typename Member>(const char* name, Member T::* member) {
    known.push_back(NameOf<Member>(name));
    const auto found = std::find_if(object->begin(), object->end(),
                                    [&](const auto& field) { return field.first == known.back(); });
    if (found == object->end() || !result) return;
    result =
        Read(found->second, place.empty() ? known.back() : place + "." + known.back(), out.*member);
  });
  TIDEMILL_TRY_VOID(result);
  for (const auto& [name, value] : *object) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Wrong(place,
                 "unknown field '" + name + "'; " + HintFor(name, {known.begin(), known.end()}));
  }
  return {};
}

}  // namespace

std::string FormatPlan(const SimPlan& plan) { return FormatTree(Write(plan)); }

Result<SimPlan> ParsePlan(std::string_view text) {
  if (text.size() > kPlanBytes) return Fail(Code::kInvalid, "too long for a plan");
  TIDEMILL_TRY(const Tree tree, ParseTree(text));
  SimPlan plan;
  TIDEMILL_TRY_VOID(Read(tree, "", plan));
  if (plan.servers < 1) return Wrong("servers", "must be at least 1");
  if (plan.agents < 0) return Wrong("agents", "must not be negative");
  if (plan.machines < 0) return Wrong("machines", "must not be negative");
  for (const PlannedJob& job : plan.jobs) {
    const bool fits = std::all_of(job.parts.begin(), job.parts.end(), [](int items) {
      return items > 0 && items <= limits::kItemsPerChunk;
    });
    if (!fits || job.parts.empty()) {
      return Wrong("jobs",
                   "each has parts of 1 to " + std::to_string(limits::kItemsPerChunk) + " items");
    }
  }
  return plan;
}

}  // namespace tidemill
