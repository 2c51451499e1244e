// SPDX-License-Identifier: Apache-2.0
#include "cloud/xml.h"

#include <algorithm>
#include <pugixml.hpp>

namespace tidemill {
namespace {

constexpr int kDepth = 16;
// As long as a line for a person may be.
constexpr std::size_t kMessageBytes = 300;

std::string_view WithoutNamespace(std::string_view name) { return name.substr(name.find(':') + 1); }

bool Copy(const pugi::xml_node& node, XmlElement& element, int depth) {
  if (depth > kDepth) return false;
  element.name = WithoutNamespace(node.name());
  element.text = node.text().get();
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() != pugi::node_element) continue;
    element.children.emplace_back();
    if (!Copy(child, element.children.back(), depth + 1)) return false;
  }
  return true;
}

}  // namespace

const XmlElement* XmlElement::Find(std::string_view child) const {
  for (const XmlElement& each : children) {
    if (each.name == child) return &each;
  }
  return nullptr;
}

std::string XmlElement::At(std::string_view path) const {
  const XmlElement* element = this;
  while (element != nullptr && !path.empty()) {
    const std::string_view next = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(next.size() + 1, path.size()));
    element = element->Find(next);
  }
  return element == nullptr ? "" : element->text;
}

Result<XmlElement> ParseXml(std::string_view text) {
  pugi::xml_document document;
  // Keys of objects may begin or end with spaces.
  const auto parsed = document.load_buffer(text.data(), text.size(),
                                           pugi::parse_default | pugi::parse_ws_pcdata_single);
  if (!parsed) return Fail(Code::kInvalid, std::string("not XML: ") + parsed.description());
  XmlElement root;
  if (!Copy(document.document_element(), root, 0)) {
    return Fail(Code::kInvalid, "the XML is nested too deeply");
  }
  return root;
}

AwsXmlError ParseAwsXmlError(std::string_view body) {
  const auto root = ParseXml(body);
  if (root) {
    // S3 has the error as root; the services of older kind have it within, and EC2 in a list.
    const XmlElement* const list = root->Find("Errors");
    const XmlElement* const inner = (list != nullptr ? *list : *root).Find("Error");
    const XmlElement& error = inner != nullptr ? *inner : *root;
    if (error.name == "Error") {
      return {error.At("Code"), error.At("Message").substr(0, kMessageBytes)};
    }
  }
  return {"", std::string(body.substr(0, kMessageBytes))};
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace tidemill
