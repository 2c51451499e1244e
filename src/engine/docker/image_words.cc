// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/image_words.h"

#include <algorithm>
#include <initializer_list>

#include "base/bytes.h"

namespace tidemill {
namespace {

bool Contains(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return text.find(word) != text.npos; });
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string Quote(std::string_view text) { return "'" + std::string(text) + "'"; }

void Replace(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string Hide(std::string_view message, const std::optional<RegistryLogin>& login) {
  std::string text(message);
  // A shorter password is no secret, and is in half of all texts.
  constexpr std::size_t kLeast = 6;
  if (!login || login->password.size() < kLeast) return text;
  Replace(text, EncodeBase64(login->user + ":" + login->password), "***");
  Replace(text, login->password, "***");
  return text;
}

std::string HostOf(std::string_view image) {
  const auto name = ParseImageName(image);
  return name ? RegistryPathOf(*name).host : "";
}

// About a registry that lets nobody have the image, or not whom it was shown.
std::string WhatToDo(const std::string& host, const PullWho& who) {
  if (who.login && who.by_role) {
    return "the registry " + host +
           " refuses this machine's role: let it read there, or name a login with image_login";
  }
  if (who.login) {
    return "the registry " + host +
           " refuses the login of image_login: check the secret, and what it may read";
  }
  std::string text = "check its name. If the registry " + host +
                     " wants a login, name a secret that holds USER:PASSWORD with image_login";
  if (!who.no_role_for.empty()) text += "; this machine's role gives none: " + who.no_role_for;
  return text;
}

}  // namespace

std::string RegistryAuth(const ImageName& name, const RegistryLogin& login) {
  const std::string host = RegistryPathOf(name).host;
  // As the Engine has always called its own.
  const std::string server = host == "docker.io" ? "https://index.docker.io/v1/" : host;
  std::string text = EncodeBase64(FormatDockerAuth({login.user, login.password, server}));
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return text;
}

Result<std::vector<std::string>> ComposeArgv(
    const DockerImage& image, const std::optional<std::vector<std::string>>& entrypoint,
    const std::optional<std::vector<std::string>>& command) {
  std::vector<std::string> argv = entrypoint ? *entrypoint : image.entrypoint;
  if (command) {
    argv.insert(argv.end(), command->begin(), command->end());
  } else if (!entrypoint) {
    argv.insert(argv.end(), image.command.begin(), image.command.end());
  }
  if (argv.empty()) {
    return Fail(Code::kInvalid, "name a command: the image has none of its own");
  }
  return argv;
}

std::string DigestOf(const ImageName& name, const DockerImage& image) {
  for (const std::string& each : image.digests) {
    const auto other = ParseImageName(each);
    const bool is_it =
        other && IsImageDigest(other->tag) && RegistryPathOf(*other) == RegistryPathOf(name);
    if (is_it) return other->tag;
  }
  return "";
}

Error PullError(std::string_view image, std::string_view message, const PullWho& who) {
  const std::string shown = Hide(message, who.login);
  const std::string text = Lower(shown);
  const std::string begin = "the image " + Quote(image) + " cannot be pulled: " + shown;
  const bool is_network = Contains(text, {"no such host", "lookup ", "dial tcp", "timeout",
                                          "connection refused", "tls", "toomanyrequests"});
  if (is_network) return {Code::kUnavailable, begin};
  if (Contains(text, {"denied", "unauthorized", "authentication required", "no basic auth"})) {
    return {Code::kInvalid, begin + "; " + WhatToDo(HostOf(image), who)};
  }
  if (Contains(text, {"no matching manifest"})) {
    return {Code::kInvalid, begin + "; build it for this kind of machine too"};
  }
  if (Contains(text, {"not found", "manifest unknown", "does not exist", "name unknown",
                      "invalid reference", "repository name"})) {
    return {Code::kInvalid, begin + "; check its name and tag, and that it was pushed"};
  }
  return {Code::kUnavailable, begin};
}

Error StartError(int status, std::string_view message) {
  const std::string text = Lower(message);
  // These lie in the image or the spec, whatever the status that they come with.
  const bool is_theirs =
      Contains(text, {"unable to find user", "unable to find group", "exec format error",
                      "minimum memory limit", "range of cpus", "invalid user"});
  // What we mount, and the devices that we give, are this machine's business, and other machines
  // may do better.
  const bool is_ours =
      Contains(text, {"mount", "bind source path", "tidemill-runtime:", "cdi device",
                      "gathering device information", "device driver"});
  const bool is_for_good = is_theirs || (status == 400 && !is_ours);
  const Code code = is_for_good ? Code::kInvalid : Code::kUnavailable;
  return {code, "the container does not start: " + std::string(message)};
}

}  // namespace tidemill
