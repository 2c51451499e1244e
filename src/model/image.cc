// SPDX-License-Identifier: Apache-2.0
#include "model/image.h"

#include <algorithm>

namespace tidemill {
namespace {

constexpr std::size_t kImageBytes = 512;  // a registry's host, 255 for the name, 128 for the tag

bool MayStandInAName(char c) {
  const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_word || std::string_view("._-/:@").find(c) != std::string_view::npos;
}

std::string Quote(std::string_view text) { return "'" + std::string(text) + "'"; }

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Result<ImageName> ParseImageName(std::string_view image) {
  if (image.empty()) {
    return Fail(Code::kInvalid, "name an image: this machine runs items in containers");
  }
  const bool is_odd = image.size() > kImageBytes || image.front() == '/' || image.back() == '/' ||
                      image.find("//") != image.npos || image.find("..") != image.npos ||
                      !std::all_of(image.begin(), image.end(), MayStandInAName);
  if (is_odd) {
    return Fail(Code::kInvalid,
                Quote(image.substr(0, kImageBytes)) + " cannot be the name of an image");
  }
  ImageName name{std::string(image), "latest"};
  const std::size_t at = image.find('@');
  if (at != image.npos) {
    name.repository = image.substr(0, at);
    name.tag = image.substr(at + 1);
  }
  // A ':' before a '/' is that of a registry's port.
  const std::size_t slash = name.repository.rfind('/');
  const std::size_t colon = name.repository.rfind(':');
  if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
    if (at == image.npos) name.tag = name.repository.substr(colon + 1);
    name.repository.erase(colon);
  }
  if (name.repository.empty() || name.tag.empty()) {
    return Fail(Code::kInvalid, Quote(image) + " cannot be the name of an image");
  }
  return name;
}

// As Docker tells a host from the first part of a path.
RegistryPath RegistryPathOf(const ImageName& name) {
  const std::string& all = name.repository;
  const std::size_t slash = all.find('/');
  const std::string first = all.substr(0, slash);
  const bool is_host = slash != std::string::npos &&
                       (first.find_first_of(".:") != std::string::npos || first == "localhost");
  if (is_host) return {first, all.substr(slash + 1)};
  return {"docker.io", slash == std::string::npos ? "library/" + all : all};
}

bool IsImageDigest(std::string_view text) {
  constexpr std::string_view kBegin = "sha256:";
  if (!text.starts_with(kBegin)) return false;
  const std::string_view digits = text.substr(kBegin.size());
  return digits.size() == 64 && std::all_of(digits.begin(), digits.end(), IsHexDigit);
}

std::string PinnedImage(const ImageName& name, std::string_view digest) {
  return name.repository + "@" + std::string(digest);
}

Result<RegistryLogin> ParseRegistryLogin(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size()) {
    return Fail(Code::kInvalid, "a registry's login must be USER:PASSWORD");
  }
  return RegistryLogin{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

}  // namespace tidemill
