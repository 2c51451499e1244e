// SPDX-License-Identifier: Apache-2.0
#include "cli/table_items.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "submit/csv.h"
#include "wire/item_object.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kTableReadBytes = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Reads pieces, makes lines of them, and gives those out as they are asked for. One thread.
class Lines {
 public:
  Lines(ByteRead from, std::string name) : from_(std::move(from)), name_(std::move(name)) {}
  virtual ~Lines() = default;

  Result<std::size_t> Read(char* to, std::size_t size) {
    while (at_ == made_.size() && !ended_) {
      made_.clear();
      at_ = 0;
      std::string piece(kTableReadBytes, '\0');
      TIDEMILL_TRY(const std::size_t got, from_(piece.data(), piece.size()));
      piece.resize(got);
      ended_ = got == 0;
      // Some programs begin a file with it; it is no part of the first name.
      if (first_ && piece.starts_with(kByteOrderMark)) piece.erase(0, kByteOrderMark.size());
      first_ = false;
      auto took = ended_ ? End() : Take(piece);
      if (took) took = Settle();
      if (!took) {
        took.error().reason.insert(0, name_ + ":");
        return tl::unexpected<Error>(took.error());
      }
    }
    const std::size_t some = std::min(size, made_.size() - at_);
    std::memcpy(to, made_.data() + at_, some);
    at_ += some;
    return some;
  }

 protected:
  virtual Result<void> Take(std::string_view piece) = 0;
  virtual Result<void> End() = 0;
  // After each of these, for who does several lines at once.
  virtual Result<void> Settle() { return {}; }

  Result<void> Add(std::int64_t line, std::string_view item) {
    if (item.size() > limits::kItemBytes) {
      return Fail(Code::kInvalid, std::to_string(line) + ": an item of " +
                                      std::to_string(item.size()) + " bytes; it may have " +
                                      std::to_string(limits::kItemBytes) +
                                      ": keep data in an object store, and let the item name it");
    }
    made_.append(item).push_back('\n');
    return {};
  }

 private:
  const ByteRead from_;
  const std::string name_;
  std::string made_;
  std::size_t at_ = 0;
  bool first_ = true;
  bool ended_ = false;
};

Result<void> AtLine(std::int64_t line, const Error& error) {
  return Fail(error.code, std::to_string(line) + ": " + error.reason);
}

class CsvLines : public Lines {
 public:
  CsvLines(ByteRead from, std::string name, char separator)
      : Lines(std::move(from), std::move(name)),
        reader_([this](std::int64_t line,
                       const std::vector<std::string>& fields) { return OnRecord(line, fields); },
                separator) {}

 private:
  Result<void> Take(std::string_view piece) override { return reader_.Feed(piece); }
  Result<void> End() override { return reader_.End(); }

  Result<void> OnRecord(std::int64_t line, const std::vector<std::string>& fields) {
    if (!objects_) {
      auto objects = ItemObjects::Of(fields);
      if (!objects) return AtLine(line, objects.error());
      objects_ = *std::move(objects);
      return {};
    }
    const auto item = objects_->Format(fields);
    if (!item) return AtLine(line, item.error());
    return Add(line, *item);
  }

  std::optional<ItemObjects> objects_;
  CsvReader reader_;
};

// What is lines already.
class EachLine : public Lines {
 public:
  using Lines::Lines;

 protected:
  virtual Result<void> OnLine(std::int64_t number, std::string line) = 0;

 private:
  Result<void> Take(std::string_view piece) override {
    while (true) {
      const std::size_t end = piece.find('\n');
      held_ += piece.substr(0, end);
      if (end == std::string_view::npos) break;
      TIDEMILL_TRY_VOID(EndLine());
      piece.remove_prefix(end + 1);
    }
    // What cannot be an item any more need not be held.
    if (held_.size() > limits::kItemBytes + kTableReadBytes) return Add(line_, held_);
    return {};
  }
  Result<void> End() override { return held_.empty() ? Result<void>() : EndLine(); }
  Result<void> EndLine() {
    std::string line = std::exchange(held_, {});
    return OnLine(line_++, std::move(line));
  }

  std::string held_;
  std::int64_t line_ = 1;
};

class JsonLines : public EachLine {
 public:
  using EachLine::EachLine;

 private:
  Result<void> OnLine(std::int64_t number, std::string line) override {
    const std::size_t last = line.find_last_not_of(" \t\r");
    if (last == std::string::npos) return {};
    line.resize(last + 1);
    if (const auto checked = CheckItemObject(line); !checked) {
      return AtLine(number, checked.error());
    }
    return Add(number, line);
  }
};

class MappedLines : public EachLine {
 public:
  MappedLines(ByteRead from, std::string name, PathMap paths)
      : EachLine(std::move(from), std::move(name)), paths_(std::move(paths)) {}

 private:
  Result<void> OnLine(std::int64_t number, std::string line) override {
    if (!paths_.Rewrite(line) && line.starts_with('{')) {
      line = RewriteItemTexts(line, [this](std::string& text) { return paths_.Rewrite(text); });
    }
    return Add(number, line);
  }

  const PathMap paths_;
};

// The lines of a piece are held until their files are stored.
class UploadedLines : public EachLine {
 public:
  UploadedLines(ByteRead from, std::string name, Uploader& uploader)
      : EachLine(std::move(from), std::move(name)), uploader_(uploader) {}

 private:
  struct Held {
    std::int64_t number = 0;
    std::string line;
  };

  static bool IsHere(const std::string& text) {
    return (text.starts_with('/') || text.starts_with("./") || text.starts_with("../")) &&
           ::access(text.c_str(), F_OK) == 0;
  }

  // Calls `use` with each path of the line, which may change it.
  static void ForPaths(std::string& line, const std::function<void(std::string&)>& use) {
    if (line.starts_with('{')) {
      line = RewriteItemTexts(line, [&use](std::string& text) {
        if (!IsHere(text)) return false;
        use(text);
        return true;
      });
    } else if (!line.empty() && !IsStoreUrl(line)) {
      use(line);
    }
  }

  Result<void> OnLine(std::int64_t number, std::string line) override {
    held_.push_back({number, std::move(line)});
    return {};
  }

  Result<void> Settle() override {
    std::map<std::string, std::string> copies;
    for (const Held& held : held_) {
      std::string line = held.line;
      ForPaths(line, [&copies](const std::string& path) { copies.try_emplace(path); });
      const bool is_path = line == held.line && copies.contains(line);
      if (is_path && ::access(line.c_str(), R_OK) != 0) {
        return AtLine(held.number,
                      {Code::kInvalid, "cannot read " + line + ": " + std::strerror(errno)});
      }
    }
    std::vector<std::string> paths;
    paths.reserve(copies.size());
    for (const auto& [path, url] : copies) paths.push_back(path);
    auto urls = uploader_.Store(paths);
    if (!urls) return Fail(urls.error().code, " " + urls.error().reason);
    auto url = urls->begin();
    for (auto& [path, copy] : copies) copy = *url++;
    for (Held& held : std::exchange(held_, {})) {
      ForPaths(held.line, [&copies](std::string& path) { path = copies.at(path); });
      TIDEMILL_TRY_VOID(Add(held.number, held.line));
    }
    return {};
  }

  Uploader& uploader_;
  std::vector<Held> held_;
};

template <typename Kind, typename... Rest>
ByteRead ReadLines(Rest... rest) {
  return [lines = std::make_shared<Kind>(std::move(rest)...)](char* to, std::size_t size) {
    return lines->Read(to, size);
  };
}

}  // namespace

ByteRead ReadCsvItems(ByteRead from, std::string name, char separator) {
  return ReadLines<CsvLines>(std::move(from), std::move(name), separator);
}

ByteRead ReadJsonItems(ByteRead from, std::string name) {
  return ReadLines<JsonLines>(std::move(from), std::move(name));
}

ByteRead MapItemPaths(ByteRead from, std::string name, PathMap paths) {
  return ReadLines<MappedLines>(std::move(from), std::move(name), std::move(paths));
}

ByteRead UploadItemPaths(ByteRead from, std::string name, Uploader& uploader) {
  return ReadLines<UploadedLines>(std::move(from), std::move(name), std::ref(uploader));
}

}  // namespace tidemill::cli
