// SPDX-License-Identifier: Apache-2.0
#include "agent/image_pins.h"

#include <utility>

#include "model/image.h"

namespace tidemill {
namespace {

// Pinned by the servers already, or by whoever wrote the spec.
bool IsPinned(const std::string& image) {
  const auto name = ParseImageName(image);
  return !name || IsImageDigest(name->tag);
}

}  // namespace

std::string ImagePins::ImageOf(JobId job, const std::string& image) const {
  const auto found = digests_.find(job);
  const auto name = ParseImageName(image);
  return found == digests_.end() || !name ? image : PinnedImage(*name, found->second);
}

void ImagePins::Pin(ContainerSpec spec, Done done) {
  spec.image = ImageOf(spec.job, spec.image);
  if (IsPinned(spec.image)) return done(std::move(spec));
  const auto take = [this, spec, done = std::move(done)](Result<std::string> digest) {
    if (!digest) return done(tl::unexpected(digest.error()));
    if (digest->empty()) return done(spec);
    Ask(spec, *digest, done);
  };
  deps_.engine.Fetch(spec, [take, alive = std::weak_ptr<char>(alive_)](Result<std::string> digest) {
    if (!alive.expired()) take(std::move(digest));
  });
}

void ImagePins::Ask(const ContainerSpec& spec, const std::string& digest, Done done) {
  const auto take = [this, spec, digest, done = std::move(done)](Result<std::string> counts) {
    if (!counts && counts.error().code == Code::kNotFound) counts = digest;
    if (!counts || !IsImageDigest(*counts)) {
      const std::string why = counts ? "what they say is no digest" : counts.error().reason;
      return done(Fail(Code::kUnavailable, "the servers do not say which image counts: " + why));
    }
    digests_[spec.job] = *counts;
    ContainerSpec pinned = spec;
    pinned.image = ImageOf(spec.job, spec.image);
    done(std::move(pinned));
  };
  deps_.link.PinImage(pass_, spec.job, digest,
                      [take, alive = std::weak_ptr<char>(alive_)](Result<std::string> counts) {
                        if (!alive.expired()) take(std::move(counts));
                      });
}

void ImagePins::ForgetIf(const std::function<bool(JobId)>& is_over) {
  std::erase_if(digests_, [&](const auto& entry) { return is_over(entry.first); });
}

}  // namespace tidemill
