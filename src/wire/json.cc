// SPDX-License-Identifier: Apache-2.0
#include "wire/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "wire/nearest.h"
#include "wire/runs.h"

namespace tidemill::json {
namespace {

// Builds a value and stops at what Parse refuses.
class Builder : public nlohmann::json_sax<Value> {
 public:
  Value root;
  std::string why;

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    // The library makes a float of an integer that does not fit.
    if (text.find_first_of(".eE") == std::string::npos) return Refuse("an integer of over 64 bits");
    return Put(value);
  }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return Refuse("binary"); }
  bool start_object(std::size_t) override { return Open(Value::object()); }
  bool start_array(std::size_t) override { return Open(Value::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    auto& fields = open_.back()->get_ref<Value::object_t&>();
    const auto [field, is_new] = fields.try_emplace(std::move(name));
    if (!is_new) return Refuse("the field '" + field->first.substr(0, 40) + "' is there twice");
    field_ = &field->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    const std::string near = token.substr(token.size() - std::min<std::size_t>(token.size(), 20));
    return Refuse("not JSON: it goes wrong at byte " + std::to_string(position) +
                  (near.empty() ? "" : ", near '" + near + "'"));
  }

 private:
  bool Refuse(std::string reason) {
    why = std::move(reason);
    return false;
  }

  template <typename T>
  bool Put(T&& value) {
    Place(std::forward<T>(value));
    return true;
  }

  template <typename T>
  Value* Place(T&& value) {
    Value* place = &root;
    if (!open_.empty() && open_.back()->is_array()) {
      place = &open_.back()->get_ref<Value::array_t&>().emplace_back();
    } else if (!open_.empty()) {
      place = field_;
    }
    *place = std::forward<T>(value);
    return place;
  }

  bool Open(Value&& value) {
    if (open_.size() == kDepth) {
      return Refuse("nested deeper than " + std::to_string(kDepth));
    }
    // Only the last array grows, and nothing points into it while it does.
    open_.push_back(Place(std::move(value)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  std::vector<Value*> open_;
  Value* field_ = nullptr;
};

std::string_view KindOf(const Value& value) {
  switch (value.type()) {
    case Value::value_t::null:
      return "null";
    case Value::value_t::object:
      return "an object";
    case Value::value_t::array:
      return "an array";
    case Value::value_t::string:
      return "a string";
    case Value::value_t::boolean:
      return "true or false";
    case Value::value_t::number_float:
      return "a fraction";
    default:
      return "a number";
  }
}

tl::unexpected<Error> NotA(const Path& path, std::string_view wanted, const Value& value) {
  return Wrong(path, "must be " + std::string(wanted) + ", not " + std::string(KindOf(value)));
}

tl::unexpected<Error> Missing(const Path& path) { return Wrong(path, "is missing"); }

std::string Range(const Whole& bounds) {
  if (bounds.most == std::numeric_limits<std::int64_t>::max()) {
    return "must be at least " + std::to_string(bounds.least);
  }
  return "must be from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
}

}  // namespace

Result<Value> Parse(std::string_view text) {
  Builder builder;
  if (!Value::sax_parse(text.begin(), text.end(), &builder)) {
    return Fail(Code::kInvalid, std::move(builder.why));
  }
  return std::move(builder.root);
}

std::string Path::Text() const {
  std::string out = up == nullptr ? "" : up->Text();
  if (!name.empty()) {
    if (!out.empty()) out.push_back('.');
    return out.append(name);
  }
  if (up == nullptr) return out;
  return out.append("[").append(std::to_string(index)).append("]");
}

tl::unexpected<Error> Wrong(const Path& path, std::string_view why) {
  std::string where = path.Text();
  return Fail(Code::kInvalid, (where.empty() ? "the body" : where) + ": " + std::string(why));
}

Result<Fields> Fields::Of(const Value& value, const Path& path) {
  if (!value.is_object()) return NotA(path, "an object", value);
  return Fields(value, path);
}

Result<void> Fields::Only(std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : object_->get_ref<const Value::object_t&>()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string shown = name.substr(0, limits::kNameBytes);
    return Wrong(path_, "unknown field '" + shown + "'; " + HintFor(shown, known));
  }
  return {};
}

const Value* Fields::Find(std::string_view name) const {
  const auto& fields = object_->get_ref<const Value::object_t&>();
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : &found->second;
}

Result<std::int64_t> IntOf(const Value& value, const Path& path, Whole bounds) {
  if (!value.is_number_integer()) return NotA(path, "an integer", value);
  // A number past the signed ones is past every bound too.
  const bool huge = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  const std::int64_t number = huge ? 0 : value.get<std::int64_t>();
  if (huge || number < bounds.least || number > bounds.most) return Wrong(path, Range(bounds));
  return number;
}

Result<std::int64_t> Fields::Int(std::string_view name, Whole bounds) const {
  const Value* value = Find(name);
  if (value != nullptr) return IntOf(*value, In(name), bounds);
  if (!bounds.absent) return Missing(In(name));
  return *bounds.absent;
}

Result<bool> Fields::Flag(std::string_view name, std::optional<bool> absent) const {
  const Value* value = Find(name);
  if (value == nullptr) {
    if (!absent) return Missing(In(name));
    return *absent;
  }
  if (!value->is_boolean()) return NotA(In(name), "true or false", *value);
  return value->get<bool>();
}

Result<std::string_view> Fields::Text(std::string_view name, Words bounds) const {
  const Value* value = Find(name);
  if (value == nullptr) {
    if (!bounds.absent) return Missing(In(name));
    return *bounds.absent;
  }
  if (!value->is_string()) return NotA(In(name), "a string", *value);
  const std::string_view text = value->get_ref<const std::string&>();
  if (text.empty() && bounds.absent != "") return Wrong(In(name), "must not be empty");
  if (text.size() > bounds.most_bytes) {
    return Wrong(In(name), "is longer than " + std::to_string(bounds.most_bytes) + " bytes");
  }
  const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) {
    return Wrong(In(name), "must not have control characters");
  }
  return text;
}

Result<std::string> Fields::Bytes(std::string_view name, std::size_t most) const {
  const Value* value = Find(name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return NotA(In(name), "a string", *value);
  const std::string& text = value->get_ref<const std::string&>();
  if (text.size() / 4 * 3 > most + 2) {
    return Wrong(In(name), "is more than " + std::to_string(most) + " bytes");
  }
  auto bytes = DecodeBase64(text);
  if (!bytes) return Wrong(In(name), "is not base64");
  if (bytes->size() > most) {
    return Wrong(In(name), "is more than " + std::to_string(most) + " bytes");
  }
  return *std::move(bytes);
}

Result<Bits> Fields::Runs(std::string_view name, int length) const {
  const Value* value = Find(name);
  if (value == nullptr) return Bits(length);
  if (!value->is_string()) return NotA(In(name), "a string", *value);
  auto bits = ParseRuns(value->get_ref<const std::string&>(), length);
  if (!bits) return Wrong(In(name), bits.error().reason);
  return bits;
}

Result<std::int64_t> Fields::Millicpus(std::string_view name, Whole bounds) const {
  const Value* value = Find(name);
  if (value == nullptr) {
    if (!bounds.absent) return Missing(In(name));
    return *bounds.absent;
  }
  if (!value->is_number()) return NotA(In(name), "a number", *value);
  const double number = value->get<double>() * 1000;
  if (!(number >= static_cast<double>(bounds.least) &&
        number <= static_cast<double>(bounds.most))) {
    return Wrong(In(name), "must be from " + Cpus(bounds.least) + " to " + Cpus(bounds.most));
  }
  return std::llround(number);
}

Result<const Value*> Fields::Array(std::string_view name, std::size_t most) const {
  const Value* value = Find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) return NotA(In(name), "an array", *value);
  if (value->size() > most) {
    return Wrong(In(name), "has more than " + std::to_string(most) + " elements");
  }
  return value;
}

void AppendValue(std::string& out, std::string_view field, std::string_view json) {
  if (out.back() != '{') out.push_back(',');
  out.append("\"").append(field).append("\":").append(json);
}

void AppendNumber(std::string& out, std::string_view field, std::int64_t number) {
  AppendValue(out, field, std::to_string(number));
}

void AppendText(std::string& out, std::string_view field, std::string_view text) {
  AppendValue(out, field, Quoted(text));
}

void AppendStrings(std::string& out, std::string_view field,
                   const std::vector<std::string>& strings) {
  std::string list = "[";
  for (const std::string& one : strings)
    list.append(list.size() > 1 ? "," : "").append(Quoted(one));
  AppendValue(out, field, list + "]");
}

void AppendFlag(std::string& out, std::string_view field, bool flag) {
  AppendValue(out, field, flag ? "true" : "false");
}

std::string Quoted(std::string_view text) {
  return Value(text).dump(-1, ' ', false, Value::error_handler_t::replace);
}

std::string Cpus(std::int64_t millicpus) {
  std::string out = std::to_string(millicpus / 1000);
  if (millicpus % 1000 == 0) return out;
  std::string fraction = std::to_string(1000 + millicpus % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return out.append(".").append(fraction);
}

}  // namespace tidemill::json
