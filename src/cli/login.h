// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/context.h"
#include "model/access.h"
#include "net/asio_loop.h"
#include "wire/contexts_json.h"

// Signing in to servers, and which of them is meant.
namespace tidemill::cli {

struct LoginFlags {
  std::string url;
  std::string name;        // of the context; empty: as the server is called
  std::string ca;          // a file
  std::string project;     // empty: the token's own
  std::string token_file;  // empty: the terminal, or standard input
};

// "submitter in project vision", "admin in all projects"
std::string RoleText(const Caller& caller);
// "Signed in to https://batch.example as 'ann' (...); context 'batch.example' is ..."
std::string SignedInText(const SavedContext& context, const Caller& caller);
// Of all contexts, the current one with a '*'.
std::string ContextsText(const ContextsFile& file, std::size_t width, bool colours);

// tidemill login: nothing is kept before the server has said who it is that signs in.
int Login(AsioLoop& loop, const Console& console, const Surroundings& around, bool root,
          const LoginFlags& flags);
// tidemill logout, tidemill context rm; empty: the current one.
int Logout(const Console& console, const Surroundings& around, const std::string& name);
// tidemill context list, use
int ListContexts(const Console& console, const Surroundings& around);
int UseContext(const Console& console, const Surroundings& around, const std::string& name);
// tidemill whoami
int WhoAmI(const Context& context);

}  // namespace tidemill::cli
