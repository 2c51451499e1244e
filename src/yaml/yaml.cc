// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "yaml/scalar.h"
#include "yaml/slip.h"

namespace tidemill {
namespace {

tl::unexpected<Error> AtLine(int line, std::string_view why) {
  return Fail(Code::kInvalid, "line " + std::to_string(line) + ": " + std::string(why));
}

int LineAt(std::string_view yaml, std::size_t place) {
  return 1 +
         static_cast<int>(std::count(yaml.begin(), yaml.begin() + static_cast<long>(place), '\n'));
}

bool IsDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsPlain(const YAML::Node& node) { return node.IsScalar() && node.Tag() == "?"; }

// The word of `{word}`, which YAML reads as an object with one name and no value.
std::optional<std::string> BareTemplate(const YAML::Node& node) {
  if (!node.IsMap() || node.size() != 1 || node.Style() != YAML::EmitterStyle::Flow) return {};
  const auto only = node.begin();
  if (!only->second.IsNull() || !IsPlain(only->first)) return {};
  const std::string text = "{" + only->first.Scalar() + "}";
  return IsTemplate(text) ? std::optional(text) : std::nullopt;
}

// Writes the nodes out. Aliases are followed, so the limits are on what comes out.
class Converter {
 public:
  Converter(YamlText& out, const YamlLimits& limits) : out_(out), limits_(limits) {}

  // `line` is for nodes that have none of their own: those that are not written down.
  Result<void> Write(const YAML::Node& node, const std::string& path, int line, int depth) {
    if (!node.IsNull()) line = node.Mark().line + 1;
    if (++nodes_ > limits_.nodes) {
      return AtLine(line, "more than " + std::to_string(limits_.nodes) + " values");
    }
    if (depth > kYamlDepth) {
      return AtLine(line, "nested deeper than " + std::to_string(kYamlDepth));
    }
    // As much as all the input could become without aliases: six bytes for a control character.
    if (out_.json.size() > 6 * limits_.bytes) return AtLine(line, "too much text through aliases");
    out_.lines.try_emplace(path, line);
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return WriteScalar(node, line);
      case YAML::NodeType::Sequence:
        return WriteList(node, path, depth);
      case YAML::NodeType::Map:
        return WriteObject(node, path, line, depth);
      default:
        out_.json += "null";
        return {};
    }
  }

 private:
  Result<void> WriteScalar(const YAML::Node& node, int line) {
    const std::string& tag = node.Tag();
    if (tag == "?") {
      const std::string& word = node.Scalar();
      const bool is_octal = word.size() > 1 && word.front() == '0' && IsDigits(word);
      if (is_octal && !limits_.leading_zeros) {
        return AtLine(line, "the number " + word.substr(0, 20) +
                                " is octal to some and decimal to others; write 0o... or no zero");
      }
      auto json = PlainToJson(node.Scalar());
      if (!json) return AtLine(line, json.error().reason);
      out_.json += *json;
      return {};
    }
    if (tag != "!" && tag != "tag:yaml.org,2002:str") {
      return AtLine(line, "the tag '" + tag.substr(0, 60) + "' means nothing here");
    }
    if (node.Scalar().find('\0') != std::string::npos) return AtLine(line, "a NUL in a text");
    out_.json += TextToJson(node.Scalar());
    return {};
  }

  Result<void> WriteList(const YAML::Node& node, const std::string& path, int depth) {
    out_.json += '[';
    std::size_t index = 0;
    for (const YAML::Node& element : node) {
      if (index > 0) out_.json += ',';
      const int line = element.Mark().line + 1;
      TIDEMILL_TRY_VOID(Write(element, path + "[" + std::to_string(index) + "]", line, depth + 1));
      ++index;
    }
    out_.json += ']';
    return {};
  }

  Result<void> WriteObject(const YAML::Node& node, const std::string& path, int line, int depth) {
    if (const auto bare = BareTemplate(node)) {
      return AtLine(line, "quote it: \"" + *bare + "\"");
    }
    out_.json += '{';
    std::map<std::string, int> seen;
    for (const auto& field : node) {
      const int here = field.first.IsNull() ? line : field.first.Mark().line + 1;
      TIDEMILL_TRY(const std::string name, NameOf(field.first, here));
      const auto [before, is_new] = seen.try_emplace(name, here);
      if (!is_new) {
        return AtLine(here, "'" + name.substr(0, 60) + "' is there twice; first in line " +
                                std::to_string(before->second));
      }
      if (seen.size() > 1) out_.json += ',';
      out_.json.append(TextToJson(name)).append(":");
      const std::string below = path.empty() ? name : path + "." + name;
      out_.lines.try_emplace(below, here);
      TIDEMILL_TRY_VOID(Write(field.second, below, here, depth + 1));
    }
    out_.json += '}';
    return {};
  }

  static Result<std::string> NameOf(const YAML::Node& node, int line) {
    if (!node.IsScalar()) return AtLine(line, "a name must be text; if this is text, quote it");
    const std::string& text = node.Scalar();
    if (text.find('\0') != std::string::npos) return AtLine(line, "a NUL in a name");
    if (!IsPlain(node)) return text;
    const auto json = PlainToJson(text);
    // A whole number is spelled in one way only, so its spelling is its name.
    const bool is_whole = json && *json == text && IsDigits(text);
    if (!is_whole && (!json || json->front() != '"')) {
      return AtLine(line, "a name must be text; write \"" + text.substr(0, 60) + "\"");
    }
    return text;
  }

  YamlText& out_;
  const YamlLimits& limits_;
  int nodes_ = 0;
};

// Where a document begins.
class StartOnly : public YAML::EventHandler {
 public:
  int line = 1;

  void OnDocumentStart(const YAML::Mark& mark) override { line = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Takes the documents one by one, because the library sees no end of them in texts such as ",":
// each is empty, and none takes the comma.
Result<void> CheckOneDocument(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  StartOnly start;
  if (!parser.HandleNextDocument(start)) return AtLine(1, "there is nothing in it");
  if (!parser.HandleNextDocument(start)) return {};
  return AtLine(start.line, "something begins anew here; one document only");
}

Result<YAML::Node> Load(const std::string& yaml) {
  try {
    TIDEMILL_TRY_VOID(CheckOneDocument(yaml));
    YAML::Node root = YAML::Load(yaml);
    if (root.IsNull()) return AtLine(1, "there is nothing in it");
    return root;
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1;
    if (const auto slip = SlipNear(yaml, line)) return AtLine(slip->line, slip->advice);
    return AtLine(line, "not YAML: " + error.msg);
  } catch (const std::exception& error) {
    return Fail(Code::kInvalid, std::string("not YAML: ") + error.what());
  }
}

}  // namespace

int YamlText::LineOf(std::string_view path) const {
  while (true) {
    const auto found = lines.find(path);
    if (found != lines.end()) return found->second;
    const std::size_t end = path.find_last_of(".[");
    if (path.empty()) return 1;
    path = path.substr(0, end == std::string_view::npos ? 0 : end);
  }
}

Result<YamlText> ToJson(std::string_view yaml, const YamlLimits& limits) {
  if (yaml.size() > limits.bytes) {
    return Fail(Code::kInvalid, "more than " + std::to_string(limits.bytes) + " bytes");
  }
  const std::size_t bad = FindNotUtf8(yaml);
  if (bad < yaml.size()) return AtLine(LineAt(yaml, bad), "not UTF-8");
  TIDEMILL_TRY(const YAML::Node root, Load(std::string(yaml)));
  YamlText out;
  try {
    TIDEMILL_TRY_VOID(Converter(out, limits).Write(root, "", 1, 1));
  } catch (const YAML::Exception& error) {
    return AtLine(error.mark.line + 1, "not YAML: " + error.msg);
  }
  return out;
}

}  // namespace tidemill
