// SPDX-License-Identifier: Apache-2.0
#include "arrivals/s3_event.h"

#include <optional>
#include <utility>

#include "arrivals/tree_fields.h"

namespace tidemill {
namespace {

// S3's own message in EventBridge's in SNS's: nobody wraps deeper.
constexpr int kWrappings = 3;

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// "a+b%2Bc" -> "a b+c". Nothing: an escape is malformed.
std::optional<std::string> DecodeForm(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const auto high = HexDigit(text[i + 1]);
    const auto low = HexDigit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out.push_back(static_cast<char>(*high * 16 + *low));
    i += 2;
  }
  return out;
}

// What is said of one object, in the names of both kinds of message.
Result<ArrivedObject> ReadObject(const Tree& holder, const char* tag_name) {
  const Tree& object = FieldOrNone(holder, "object");
  ArrivedObject arrived{.bucket = TextIn(FieldOrNone(holder, "bucket"), "name"),
                        .key = TextIn(object, "key"),
                        .version = VersionOf(TextIn(object, tag_name))};
  if (arrived.bucket.empty()) return Fail(Code::kInvalid, "it names no bucket");
  if (arrived.key.empty()) return Fail(Code::kInvalid, "it names no key");
  if (arrived.version.empty()) return Fail(Code::kInvalid, "it has no ETag");
  return arrived;
}

Result<std::vector<ArrivedObject>> ReadRecords(const Tree::List& records) {
  std::vector<ArrivedObject> all;
  for (const Tree& record : records) {
    std::string event = TextIn(record, "eventName");
    if (event.empty()) return Fail(Code::kInvalid, "a record has no eventName");
    // Stores that speak S3's language write it both ways.
    if (event.starts_with("s3:")) event.erase(0, 3);
    if (!event.starts_with("ObjectCreated:")) continue;
    TIDEMILL_TRY(ArrivedObject arrived, ReadObject(FieldOrNone(record, "s3"), "eTag"));
    auto key = DecodeForm(arrived.key);
    if (!key) return Fail(Code::kInvalid, "a key is not encoded as a form is");
    arrived.key = *std::move(key);
    all.push_back(std::move(arrived));
  }
  return all;
}

Result<std::vector<ArrivedObject>> ReadEvent(std::string_view body, int wrappings) {
  auto tree = ParseTreeWithoutNulls(body);
  if (!tree || !std::holds_alternative<Tree::Object>(tree->value)) {
    return Fail(Code::kInvalid, "it is not a JSON object");
  }
  if (const Tree* records = FindIn(*tree, "Records")) {
    const auto* list = std::get_if<Tree::List>(&records->value);
    if (list == nullptr) return Fail(Code::kInvalid, "Records is no list");
    return ReadRecords(*list);
  }
  if (TextIn(*tree, "Event") == "s3:TestEvent") return std::vector<ArrivedObject>();
  if (TextIn(*tree, "source") == "aws.s3") {
    if (TextIn(*tree, "detail-type") != "Object Created") return std::vector<ArrivedObject>();
    TIDEMILL_TRY(ArrivedObject arrived, ReadObject(FieldOrNone(*tree, "detail"), "etag"));
    return std::vector<ArrivedObject>{std::move(arrived)};
  }
  const bool is_wrapped = TextIn(*tree, "Type") == "Notification" && wrappings < kWrappings;
  if (is_wrapped) return ReadEvent(TextIn(*tree, "Message"), wrappings + 1);
  return Fail(Code::kInvalid, "it is no message of S3's");
}

}  // namespace

Result<std::vector<ArrivedObject>> ParseS3Event(std::string_view body) {
  return ReadEvent(body, 0);
}

std::string VersionOf(std::string_view tag) {
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') {
    tag = tag.substr(1, tag.size() - 2);
  }
  return std::string(tag);
}

}  // namespace tidemill
