// SPDX-License-Identifier: Apache-2.0
#include "arrivals/queue_json.h"

#include <utility>

#include "arrivals/tree_fields.h"

namespace tidemill {
namespace {

Tree TextTree(std::string text) { return Tree(Tree::Value(std::move(text))); }
Tree NumberTree(int number) { return Tree(Tree::Value(std::int64_t{number})); }

// The elements of a list that is absent where there are none.
Result<Tree::List> ListOf(std::string_view body, std::string_view name) {
  auto tree = ParseTreeWithoutNulls(body);
  if (!tree || !std::holds_alternative<Tree::Object>(tree->value)) {
    return Fail(Code::kInvalid, "its answer is not a JSON object");
  }
  const Tree* const field = FindIn(*tree, name);
  if (field == nullptr) return Tree::List();
  const auto* list = std::get_if<Tree::List>(&field->value);
  if (list == nullptr) return Fail(Code::kInvalid, std::string(name) + " is no list");
  return *list;
}

ArrivalMessage MessageOf(std::string handle, Result<std::vector<ArrivedObject>> objects) {
  ArrivalMessage message{.handle = std::move(handle)};
  if (objects) {
    message.objects = *std::move(objects);
  } else {
    message.unread = std::move(objects).error().reason;
  }
  return message;
}

Result<std::vector<ArrivedObject>> ReadAttributes(const Tree& attributes) {
  const std::string event = TextIn(attributes, "eventType");
  if (event.empty()) return Fail(Code::kInvalid, "it is no message of Cloud Storage");
  if (event != "OBJECT_FINALIZE") return std::vector<ArrivedObject>();
  ArrivedObject object{.bucket = TextIn(attributes, "bucketId"),
                       .key = TextIn(attributes, "objectId"),
                       .version = TextIn(attributes, "objectGeneration")};
  if (object.bucket.empty() || object.key.empty() || object.version.empty()) {
    return Fail(Code::kInvalid, "it names no bucket, no object or no generation");
  }
  return std::vector<ArrivedObject>{std::move(object)};
}

}  // namespace

std::string FormatSqsReceive(const SqsAsk& ask) {
  return FormatTreeShort(Tree(Tree::Object{{"QueueUrl", TextTree(ask.queue_url)},
                                           {"MaxNumberOfMessages", NumberTree(ask.most)},
                                           {"WaitTimeSeconds", NumberTree(ask.wait_s)},
                                           {"VisibilityTimeout", NumberTree(ask.hidden_s)}}));
}

Result<std::vector<ArrivalMessage>> ParseSqsMessages(std::string_view body) {
  TIDEMILL_TRY(const Tree::List list, ListOf(body, "Messages"));
  std::vector<ArrivalMessage> messages;
  for (const Tree& one : list) {
    std::string handle = TextIn(one, "ReceiptHandle");
    if (handle.empty()) return Fail(Code::kInvalid, "a message has no ReceiptHandle");
    messages.push_back(MessageOf(std::move(handle), ParseS3Event(TextIn(one, "Body"))));
  }
  return messages;
}

std::string FormatSqsDelete(const std::string& queue_url, const std::vector<std::string>& handles) {
  Tree::List entries;
  for (const std::string& handle : handles) {
    entries.push_back(Tree(Tree::Object{{"Id", TextTree(std::to_string(entries.size()))},
                                        {"ReceiptHandle", TextTree(handle)}}));
  }
  return FormatTreeShort(
      Tree(Tree::Object{{"QueueUrl", TextTree(queue_url)}, {"Entries", Tree(std::move(entries))}}));
}

Result<std::size_t> ParseSqsFailed(std::string_view body) {
  TIDEMILL_TRY(const Tree::List failed, ListOf(body, "Failed"));
  return failed.size();
}

std::string FormatPull(int most) {
  return FormatTreeShort(Tree(Tree::Object{{"maxMessages", NumberTree(most)}}));
}

Result<std::vector<ArrivalMessage>> ParsePulled(std::string_view body) {
  TIDEMILL_TRY(const Tree::List list, ListOf(body, "receivedMessages"));
  std::vector<ArrivalMessage> messages;
  for (const Tree& one : list) {
    std::string handle = TextIn(one, "ackId");
    if (handle.empty()) return Fail(Code::kInvalid, "a message has no ackId");
    const Tree& attributes = FieldOrNone(FieldOrNone(one, "message"), "attributes");
    messages.push_back(MessageOf(std::move(handle), ReadAttributes(attributes)));
  }
  return messages;
}

std::string FormatAcknowledge(const std::vector<std::string>& handles) {
  Tree::List ids;
  for (const std::string& handle : handles) ids.push_back(TextTree(handle));
  return FormatTreeShort(Tree(Tree::Object{{"ackIds", Tree(std::move(ids))}}));
}

}  // namespace tidemill
