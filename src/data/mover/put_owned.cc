// SPDX-License-Identifier: Apache-2.0
#include "data/mover/put_owned.h"

#include <charconv>
#include <memory>
#include <utility>

namespace tidemill {
namespace {

constexpr char kJob[] = "tidemill-job";
constexpr char kItem[] = "tidemill-item";
constexpr char kRound[] = "tidemill-round";

using Done = std::function<void(Result<void>)>;

PutOptions OptionsOf(const PutOwned& put) {
  return {.content_type = put.content_type,
          .marks = {{kJob, put.owner.job},
                    {kItem, std::to_string(put.owner.item)},
                    {kRound, std::to_string(put.owner.round)}}};
}

std::string MarkOf(const ObjectMarks& marks, const char* name) {
  const auto found = marks.find(name);
  return found == marks.end() ? "" : found->second;
}

enum class Whose { kOurs, kOfAnEarlierRound, kStrangers };

Whose WhoseIs(const ObjectMarks& marks, const OutputOwner& owner) {
  if (MarkOf(marks, kJob) != owner.job || MarkOf(marks, kItem) != std::to_string(owner.item)) {
    return Whose::kStrangers;
  }
  const std::string text = MarkOf(marks, kRound);
  std::int32_t round = -1;
  std::from_chars(text.data(), text.data() + text.size(), round);
  return round >= owner.round ? Whose::kOurs : Whose::kOfAnEarlierRound;
}

void Decide(ObjectStore& store, const std::shared_ptr<const PutOwned>& put, const ObjectInfo& there,
            const Done& done) {
  const Whose whose = WhoseIs(there.marks, put->owner);
  if (whose == Whose::kOurs) return done({});
  if (whose == Whose::kStrangers) {
    if (put->exists == OutputExists::kSkip) return done({});
    if (put->exists == OutputExists::kFail) {
      return done(Fail(Code::kConflict, "there is another object where its output is to be: " +
                                            put->key + " (see output_exists)"));
    }
  }
  // Only that one is replaced: another attempt may be at it, and the first of a round counts.
  PutOptions options = OptionsOf(*put);
  options.if_tag = there.tag;
  store.Put(put->key, put->body, std::move(options), [done](Result<void> stored) {
    const bool has_changed = !stored && stored.error().code == Code::kConflict;
    // Whoever asked looks once more.
    if (has_changed) return done(Fail(Code::kUnavailable, stored.error().reason));
    done(std::move(stored));
  });
}

}  // namespace

void Put(ObjectStore& store, PutOwned put, Done done) {
  const auto shared = std::make_shared<const PutOwned>(std::move(put));
  PutOptions options = OptionsOf(*shared);
  options.if_absent = true;
  store.Put(shared->key, shared->body, std::move(options),
            [&store, shared, done = std::move(done)](Result<void> stored) {
              if (stored || stored.error().code != Code::kConflict) return done(std::move(stored));
              store.Head(shared->key, [&store, shared, done](Result<ObjectInfo> there) {
                if (there) return Decide(store, shared, *there, done);
                // It is gone again: whoever asked tries once more.
                const bool is_gone = there.error().code == Code::kNotFound;
                if (is_gone) return done(Fail(Code::kUnavailable, there.error().reason));
                done(tl::unexpected(std::move(there).error()));
              });
            });
}

}  // namespace tidemill
