// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// What a store keeps beside an object, for those who find it: names of small letters, digits and
// '-'; values of printable ASCII. All together at most 2 KiB.
using ObjectMarks = std::map<std::string, std::string>;

struct ObjectInfo {
  std::string key = {};
  std::int64_t size_bytes = 0;
  // Another content has another tag. Empty: the store has none.
  std::string tag = {};
  ObjectMarks marks = {};  // only Head tells them
};

// What is to be stored. Read in parts, of which some may be read again: it must not change.
struct ObjectBody {
  std::int64_t size_bytes = 0;
  // Exactly so many bytes from there on. Loop thread.
  std::function<Result<std::string>(std::int64_t offset, std::size_t size)> read = {};
};
ObjectBody BodyOf(std::string text);

struct PutOptions {
  std::string content_type = "application/octet-stream";
  ObjectMarks marks = {};
  bool if_absent = false;
  std::string if_tag = {};  // not empty: only in place of the object that has this tag
};

struct ObjectRange {
  std::int64_t offset = 0;
  std::optional<std::int64_t> size = {};  // absent: to the end
};

struct ListOptions {
  std::string prefix = {};
  std::string delimiter = {};  // "/" or empty: keys that have it after the prefix are folded
  std::string after = {};      // only keys behind this one; for a first page
  std::string next = {};       // as the page before said
  int most = 1000;             // at least 1; S3 and Google give 1,000 at most
};

struct ListPage {
  std::vector<ObjectInfo> objects = {};    // by key, in the order of bytes
  std::vector<std::string> prefixes = {};  // what was folded, with the delimiter at its end
  std::string next = {};                   // empty: this was the last
};

// The objects of one bucket, or below one folder. Loop thread only. What is stored survives.
//
// Each `done` comes once, never from inside the call, and not after the store is destroyed. What
// fails for a moment has been tried again by then, within limits. Codes:
//   kNotFound     no such object, or no such bucket
//   kConflict     if_absent, and there is one; if_tag, and there is another or none; or it changed
//                 while it was read
//   kForbidden, kNobody   these credentials may not, or there are none
//   kInvalid      the key, the range or the request is wrong
//   kExhausted    no space, no quota
//   kUnavailable  it was not done; kUnknown: it may have been done
class ObjectStore {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  // Gets the bytes in their order; an error ends the whole.
  using OnPiece = std::function<Result<void>(std::string_view)>;

  virtual ~ObjectStore() = default;
  virtual void Head(const std::string& key, Done<ObjectInfo> done) = 0;
  // All pieces are of one content. A range that begins behind the end is kInvalid, but for an
  // offset of 0 into an empty object; one that ends behind it is cut.
  virtual void Get(const std::string& key, ObjectRange range, OnPiece on_piece,
                   Done<ObjectInfo> done) = 0;
  // Whole or not at all: nobody sees a part of it. With if_absent or if_tag, an answer that was
  // lost makes kConflict of a success: who must know looks at the marks.
  virtual void Put(const std::string& key, ObjectBody body, PutOptions options,
                   Done<void> done) = 0;
  virtual void List(ListOptions options, Done<ListPage> done) = 0;
  // OK also when there is none.
  virtual void Delete(const std::string& key, Done<void> done) = 0;
};

// kInvalid: a name or a value that some store would change or refuse.
Result<void> CheckMarks(const ObjectMarks& marks);
// kInvalid: empty, longer than 1,024 bytes, not UTF-8, or with control characters.
Result<void> CheckKey(std::string_view key);
// kInvalid: what no store is asked for.
Result<void> CheckGet(std::string_view key, const ObjectRange& range);
Result<void> CheckPut(std::string_view key, const PutOptions& options);

// "s3://bucket/key", "gs://bucket/key", "file:///folder/key": what is behind the bucket may be
// empty. A file's bucket is empty, and its key the path without the first slash. Keys are taken as
// they are: nothing is decoded.
struct ObjectUrl {
  enum class Kind { kS3, kGcs, kFile };
  Kind kind = Kind::kS3;
  std::string bucket = {};
  std::string key = {};
  bool operator==(const ObjectUrl&) const = default;
};
// kInvalid: none of these.
Result<ObjectUrl> ParseObjectUrl(std::string_view url);

}  // namespace tidemill
