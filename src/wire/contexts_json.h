// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/access.h"

// The servers that a person has signed in to, as a file of theirs.
namespace tidemill {

// Far more than anybody signs in to; the file stays one that is read in one go.
inline constexpr std::size_t kMostContexts = 200;

struct SavedContext {
  std::string name;
  std::string server;    // its URL
  std::string token;     // for this server and no other
  std::string token_id;  // no secret: for whoever revokes it
  std::string ca;        // who vouches for the server, as PEM; empty: whom the system believes
  std::string project;   // empty: the token's own
  bool operator==(const SavedContext&) const = default;
};

struct ContextsFile {
  std::string current;  // empty: none
  std::vector<SavedContext> contexts;
  bool operator==(const ContextsFile&) const = default;

  // Null if there is none of that name.
  const SavedContext* Find(std::string_view name) const;
};

std::string FormatContexts(const ContextsFile& file);
// kInvalid also: a name twice, or a current one that is not there.
Result<ContextsFile> ParseContexts(std::string_view text);

// The same for people and programs to see: without the tokens.
std::string FormatContextList(const ContextsFile& file);
// What `tidemill login` has done.
std::string FormatSignedIn(const SavedContext& context, const Caller& caller);

}  // namespace tidemill
