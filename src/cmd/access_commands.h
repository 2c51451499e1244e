// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/login.h"
#include "cli/projects.h"
#include "cli/secrets.h"
#include "cli/tokens.h"
#include "cmd/command_list.h"

namespace tidemill::cli {

// The commands about who may do what.
class AccessCommands {
 public:
  explicit AccessCommands(CommandList& list) : list_(list) {
    AddLogin();
    AddContexts();
    AddTokenCreate();
    AddTokenChanges();
    AddSecrets();
    AddPools();
    AddProjects();
    AddAudit();
  }
  AccessCommands(const AccessCommands&) = delete;
  AccessCommands& operator=(const AccessCommands&) = delete;

 private:
  void AddLogin() {
    CLI::App* const login =
        list_.AddHere(&list_.app(), "login", "Sign in to a server.",
                      "login https://batch.example --token-file ~/batch.token",
                      [this](const Console& console, const Surroundings& around) {
                        AsioLoop loop;
                        return Login(loop, console, around, ::geteuid() == 0, login_);
                      });
    CommandList::AddNote(
        login,
        "The token is asked for on the terminal, or comes from standard input or a file. It is\n"
        "no argument: those are seen by everybody on the machine, and the shell keeps them.");
    login->add_option("URL", login_.url, "The server, as https://batch.example")
        ->required()
        ->option_text(" ");
    login->add_option("--name", login_.name, "Of the context; else as the server is called")
        ->option_text("CTX");
    login->add_option("--ca", login_.ca, "Who vouches for the server; kept with the context")
        ->option_text("FILE");
    login->add_option("--project", login_.project, "In which its commands work")->option_text("P");
    login
        ->add_option("--token-file", login_.token_file,
                     "Read the token from it; - is standard input")
        ->option_text("F");
    list_
        .AddHere(&list_.app(), "logout", "Forget a context and its token; else the current one.",
                 "logout batch.example",
                 [this](const Console& console, const Surroundings& around) {
                   return Logout(console, around, context_);
                 })
        ->add_option("CTX", context_, "One of tidemill context list")
        ->option_text(" ");
    list_.Add(&list_.app(), Scope::kProject, "whoami", "Say who you are to the server.", "whoami",
              [](const Context& context) { return WhoAmI(context); });
  }

  void AddContexts() {
    CLI::App* const group = list_.AddGroup("context", "The servers that you have signed in to.",
                                           "context use batch.example");
    list_.AddHere(group, "list", "List them; * marks the current one.", "context list",
                  [](const Console& console, const Surroundings& around) {
                    return ListContexts(console, around);
                  });
    list_
        .AddHere(group, "use", "Make one the current one.", "context use batch.example",
                 [this](const Console& console, const Surroundings& around) {
                   return UseContext(console, around, context_);
                 })
        ->add_option("NAME", context_, "One of tidemill context list")
        ->required()
        ->option_text(" ");
    list_
        .AddHere(group, "rm", "Forget one and its token, as logout does.",
                 "context rm batch.example",
                 [this](const Console& console, const Surroundings& around) {
                   return Logout(console, around, context_);
                 })
        ->add_option("NAME", context_, "One of tidemill context list")
        ->required()
        ->option_text(" ");
  }

  void AddTokenCreate() {
    token_group_ = list_.AddGroup("token", "Make, list and revoke tokens.",
                                  "token create --name ann --role submitter");
    CLI::App* const create =
        list_.Add(token_group_, Scope::kServer, "create", "Make a token. It is shown once.",
                  "token create --name ann --role submitter --project vision --days 30\n"
                  "  tidemill token create --join gpu --uses 10 --minutes 15 -q",
                  [this](const Context& context) { return CreateToken(context, token_); });
    CommandList::AddNote(
        create, "With --role it is for a person or a program, with --join for machines of a pool.");
    list_.SetMissing([this] { return WrongToken(token_); });
    create->add_option("--name", token_.name, "Whose it is, or what for")->option_text("N");
    auto* const role = create->add_option("--role", token_.role, "What it may do");
    role->option_text("viewer|submitter|operator|admin")
        ->check(CLI::IsMember({"viewer", "submitter", "operator", "admin"}));
    create->add_option("--project", token_.project, "In which; '*' means all of them")
        ->option_text("P");
    create->add_option("--days", token_.days, "How long it is good; 90 unless told")
        ->option_text("D")
        ->check(CLI::Range(1, 3650));
    create->add_option("--join", token_.join, "For machines that join this pool")
        ->option_text("POOL")
        ->excludes(role);
    create->add_option("--uses", token_.uses, "How many joins; any number unless told")
        ->option_text("N")
        ->check(CLI::Range(1, 1'000'000));
    create->add_option("--minutes", token_.minutes, "How long it is good; 15 unless told")
        ->option_text("M")
        ->check(CLI::Range(1, 5'000'000));
  }

  void AddTokenChanges() {
    list_.Add(token_group_, Scope::kProject, "list", "List tokens; none of them is shown.",
              "token list", [](const Context& context) { return ListTokens(context); });
    list_
        .Add(token_group_, Scope::kProject, "revoke",
             "End tokens at once, on all servers, for good.", "token revoke 1f0c2a9b",
             [this](const Context& context) { return RevokeTokens(context, token_ids_); })
        ->add_option("ID", token_ids_, "As token list shows it; its beginning is enough")
        ->required()
        ->option_text("...");
  }

  void AddSecrets() {
    CLI::App* const group = list_.AddGroup("secret", "Set, list and remove a project's secrets.",
                                           "secret set HF_TOKEN");
    CLI::App* const set = list_.Add(
        group, Scope::kProject, "set", "Set a secret, of at most 32 KiB.",
        "secret set db-password --from-file db.password",
        [this](const Context& context) { return SetSecret(context, secret_, secret_file_); });
    CommandList::AddNote(
        set,
        "The value is asked for twice on the terminal, or comes from standard input, of which a\n"
        "line end at its end is left out, or from a file, as it is. It is no argument: those are\n"
        "seen by everybody on the machine, and the shell keeps them.");
    set->add_option("NAME", secret_, "As specs name it")->required()->option_text(" ");
    set->add_option("--from-file", secret_file_, "Every byte of it is the value")->option_text("F");
    list_.Add(group, Scope::kProject, "list", "List their names; values are never shown.",
              "secret list", [](const Context& context) { return ListSecrets(context); });
    list_
        .Add(group, Scope::kProject, "rm", "Remove a secret.", "secret rm db-password",
             [this](const Context& context) { return RemoveSecret(context, secret_); })
        ->add_option("NAME", secret_, "One of tidemill secret list")
        ->required()
        ->option_text(" ");
  }

  void AddPools() {
    CLI::App* const group = list_.AddGroup("pool", "What pools demand of their containers.",
                                           "pool set gpu --no-network");
    list_.Add(group, Scope::kProject, "list", "List pools and their policies.", "pool list",
              [](const Context& context) { return ListPools(context); });
    CLI::App* const set =
        list_.Add(group, Scope::kProject, "set",
                  "Make a pool, or set what it demands: what is named, and no more.",
                  "pool set gpu --no-network --firewall",
                  [this](const Context& context) { return SetPool(context, pool_); });
    list_.SetMissing([this]() -> std::string {
      const bool none = pool_.policy == ContainerPolicy{};
      if (none != pool_.usual) return "what?  Name what it demands, or --default for nothing";
      return "";
    });
    set->add_option("NAME", pool_.name, "The pool")->required()->option_text(" ");
    ContainerPolicy& policy = pool_.policy;
    set->add_flag("--no-capabilities", policy.no_capabilities, "Drop all, not only the dangerous");
    set->add_flag("--read-only-root", policy.read_only_root, "Only /tmp and scratch are writable");
    set->add_flag("--no-network", policy.no_network, "Loopback only");
    set->add_flag("--user-namespace", policy.user_namespace, "Root inside is nobody outside");
    set->add_flag("--firewall", policy.firewall, "A machine that cannot shut its own ports is out");
    set->add_flag("--default", pool_.usual, "Nothing beyond the defaults");
  }

  void AddProjects() {
    CLI::App* const group = list_.AddGroup("project", "Projects and their limits.",
                                           "project set vision --items 5000000");
    list_.Add(group, Scope::kServer, "list", "List projects and their limits.", "project list",
              [](const Context& context) { return ListProjects(context); });
    CLI::App* const set = list_.Add(
        group, Scope::kServer, "set", "Make a project, or change limits of one; the others stay.",
        "project set vision --items 5000000 --log-bytes 50MiB",
        [this](const Context& context) { return SetProject(context, project_); });
    set->add_option("NAME", project_.name, "The project")->required()->option_text(" ");
    set->add_option("--calls-per-second", project_.calls_per_second, "Of all its tokens together")
        ->option_text("N")
        ->check(CLI::Range(1, 1'000'000));
    set->add_option("--items", project_.items, "In jobs that are not over")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
    set->add_option("--log-bytes", project_.log_bytes, "Of one attempt at an item, as 100MiB")
        ->option_text("SIZE");
    auto* const roles = set->add_option("--cloud-role", project_.cloud_roles,
                                        "That its jobs may have, all of them; may be said again");
    roles->option_text("ROLE")->allow_extra_args(false);
    set->add_flag("--no-cloud-roles", project_.no_cloud_roles, "None any more")
        ->option_text(" ")
        ->excludes(roles);
  }

  void AddAudit() {
    list_
        .Add(&list_.app(), Scope::kProject, "audit", "Show who did what, the newest first.",
             "audit --limit 20",
             [this](const Context& context) { return ShowAudit(context, audit_limit_); })
        ->add_option("--limit", audit_limit_, "At most so many; 50 unless told")
        ->option_text("N")
        ->check(CLI::Range(1, 100'000));
  }

  CommandList& list_;
  CLI::App* token_group_ = nullptr;
  LoginFlags login_;
  std::string context_;
  TokenFlags token_;
  std::vector<std::string> token_ids_;
  std::string secret_;
  std::string secret_file_;
  PoolFlags pool_;
  ProjectFlags project_;
  int audit_limit_ = 50;
};

}  // namespace tidemill::cli
