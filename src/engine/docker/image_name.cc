// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/image_name.h"

#include <algorithm>
#include <initializer_list>

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

}  // namespace

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

Error PullError(std::string_view image, std::string_view message) {
  const std::string text = Lower(message);
  const std::string begin =
      "the image " + Quote(image) + " cannot be pulled: " + std::string(message);
  const bool is_network = Contains(text, {"no such host", "lookup ", "dial tcp", "timeout",
                                          "connection refused", "tls", "toomanyrequests"});
  if (is_network) return {Code::kUnavailable, begin};
  if (Contains(text, {"denied", "unauthorized", "authentication required", "no basic auth"})) {
    return {Code::kInvalid, begin + "; check its name, and that this machine may read it"};
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
  // What we mount is this machine's business, and other machines may do better.
  const bool is_ours = Contains(text, {"mount", "bind source path"});
  const bool is_for_good = is_theirs || (status == 400 && !is_ours);
  const Code code = is_for_good ? Code::kInvalid : Code::kUnavailable;
  return {code, "the container does not start: " + std::string(message)};
}

}  // namespace tidemill
