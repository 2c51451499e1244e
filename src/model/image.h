// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// The name of an image. Without a tag an engine would fetch all that there are.
struct ImageName {
  std::string repository;  // with its registry's host, if it names one
  std::string tag;         // or a digest
  bool operator==(const ImageName&) const = default;
};
// kInvalid: it cannot be the name of an image.
Result<ImageName> ParseImageName(std::string_view image);

// "host:5000" of "host:5000/a/b", and "a/b"; "docker.io" and "library/a" of "a".
struct RegistryPath {
  std::string host;
  std::string path;
  bool operator==(const RegistryPath&) const = default;
};
RegistryPath RegistryPathOf(const ImageName& name);

// "sha256:" and 64 digits.
bool IsImageDigest(std::string_view text);
// The image as it was when its tag stood for this digest: "host:5000/a@sha256:12".
std::string PinnedImage(const ImageName& name, std::string_view digest);

// What an image says of itself.
struct ImageConfig {
  std::vector<std::string> env = {};  // "NAME=value"
  std::map<std::string, std::string> labels = {};
  bool operator==(const ImageConfig&) const = default;
};

// Who one is to a registry.
struct RegistryLogin {
  std::string user;
  std::string password;
  bool operator==(const RegistryLogin&) const = default;
};
// From "user:password", as a secret holds it. kInvalid: it is not of that form; the reason does not
// show it.
Result<RegistryLogin> ParseRegistryLogin(std::string_view text);

}  // namespace tidemill
