// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/prepare_group.h"

#include <algorithm>
#include <utility>

#include "provider/gcp/answers.h"

namespace tidemill {
namespace {

bool Is(const Result<void>& result, Code code) { return !result && result.error().code == code; }

// One template after the other: there are one or two.
void DeleteEach(ComputeApi& api, const std::string& project,
                std::shared_ptr<std::vector<std::string>> names, TimePoint until,
                std::function<void(Result<void>)> done) {
  if (names->empty()) return done({});
  ComputeAsk ask{.project = project, .method = "DELETE", .path = TemplatePath(names->back())};
  names->pop_back();
  api.Run(std::move(ask), until, [&api, project, names, until, done](const Result<void>& gone) {
    const bool is_fine = gone || Is(gone, Code::kNotFound) || Is(gone, Code::kConflict);
    if (!is_fine) return done(gone);
    DeleteEach(api, project, names, until, done);
  });
}

}  // namespace

void DeleteTemplates(ComputeApi& api, const TemplateSweep& sweep, TimePoint until,
                     const std::function<void(Result<void>)>& done) {
  ComputeAsk ask{.project = sweep.project,
                 .path = "/global/instanceTemplates",
                 .query = TemplatesQuery(sweep.names)};
  api.Pages(std::move(ask), {}, [&api, sweep, until, done](const Result<Tree::List>& rows) {
    if (!rows) return done(tl::unexpected<Error>(rows.error()));
    const auto names = std::make_shared<std::vector<std::string>>();
    for (const Tree& row : *rows) {
      const std::string name = TextField(row, "name");
      if (sweep.names.IsTemplate(name) && name != sweep.keep) names->push_back(name);
    }
    DeleteEach(api, sweep.project, names, until, done);
  });
}

// --- Prepare ---

PrepareGroup::PrepareGroup(ComputeApi& api, const PoolSettings& settings, GcpPool pool, Done done)
    : api_(api),
      pool_(std::move(pool)),
      names_(settings.pool.project, settings.pool.name),
      template_(TemplateFor(settings, pool_, names_)),
      done_(std::move(done)),
      until_(api.Now() + api.options().limit) {}

ComputeAsk PrepareGroup::Ask(std::string method, std::string path) const {
  return {.project = pool_.project, .method = std::move(method), .path = std::move(path)};
}

void PrepareGroup::Start() { pool_.group.empty() ? MakeTemplate() : FindAdopted(); }

void PrepareGroup::FindAdopted() {
  api_.Call(Ask("GET", GroupPath(pool_, names_)),
            [self = shared_from_this()](const Result<Tree>& got) {
              if (got) return self->Finish({});
              Error error = got.error();
              if (error.code == Code::kNotFound) error.code = Code::kInvalid;
              self->Finish(While("the group '" + self->pool_.group + "'", std::move(error)));
            });
}

void PrepareGroup::MakeTemplate() {
  api_.Call(Ask("GET", TemplatePath(template_.name)),
            [self = shared_from_this()](const Result<Tree>& got) {
              if (got) return self->FindGroup();
              if (got.error().code != Code::kNotFound) {
                return self->Finish(tl::unexpected<Error>(got.error()));
              }
              ComputeAsk ask = self->Ask("POST", "/global/instanceTemplates");
              ask.body = self->template_.body;
              self->api_.Run(std::move(ask), self->until_, [self](const Result<void>& made) {
                if (made || Is(made, Code::kConflict)) return self->FindGroup();
                self->Finish(While("the template", made.error()));
              });
            });
}

void PrepareGroup::FindGroup() {
  api_.Call(Ask("GET", GroupPath(pool_, names_)),
            [self = shared_from_this()](const Result<Tree>& got) {
              if (!got && got.error().code == Code::kNotFound) return self->MakeGroup();
              if (!got) return self->Finish(tl::unexpected<Error>(got.error()));
              const std::string has = LastPart(TextField(*got, "instanceTemplate"));
              if (has != self->template_.name) return self->SetTemplate();
              self->Finish({});
            });
}

void PrepareGroup::MakeGroup() {
  ComputeAsk ask = Ask("POST", GroupsPath(pool_));
  ask.body = GroupBody(pool_, names_, template_.name);
  api_.Run(std::move(ask), until_, [self = shared_from_this()](const Result<void>& made) {
    if (made || Is(made, Code::kConflict)) return self->Finish({});
    self->Finish(While("the group", made.error()));
  });
}

// Machines that are there stay as they are.
void PrepareGroup::SetTemplate() {
  ComputeAsk ask = Ask("POST", GroupPath(pool_, names_) + "/setInstanceTemplate");
  ask.body = SetTemplateBody(pool_, template_.name);
  api_.Run(std::move(ask), until_, [self = shared_from_this()](const Result<void>& set) {
    if (!set) return self->Finish(While("the group's template", set.error()));
    DeleteTemplates(self->api_, {self->pool_.project, self->names_, self->template_.name},
                    self->until_, [self](const Result<void>& gone) { self->Finish(gone); });
  });
}

// --- Remove ---

RemoveGroup::RemoveGroup(ComputeApi& api, GroupWatch& watch, Done done)
    : api_(api), watch_(watch), done_(std::move(done)), until_(api.Now() + api.options().limit) {}

// What is on its way out is waited for.
void RemoveGroup::Look() {
  watch_.LookAnew([self = shared_from_this()](const Result<void>& looked) {
    if (!looked) return self->done_(looked);
    const auto& managed = self->watch_.view().managed;
    const PoolMemory& memory = self->watch_.memory();
    const bool is_ours = self->watch_.pool().group.empty();
    const auto is_there = [](const auto& known) { return !known.second.ended; };
    const bool has_machines = std::any_of(memory.machines.begin(), memory.machines.end(), is_there);
    if (!has_machines && (!is_ours || managed.empty())) {
      return is_ours ? self->DeleteGroup() : self->done_({});
    }
    const bool all_leave = std::all_of(managed.begin(), managed.end(), [](const auto& one) {
      return one.action == "DELETING" || one.status.empty();
    });
    if (!all_leave || self->api_.Now() >= self->until_) {
      return self->done_(Fail(Code::kConflict, "machines of the pool are still there"));
    }
    self->api_.After(self->api_.options().poll, [self] { self->Look(); });
  });
}

void RemoveGroup::DeleteGroup() {
  const GcpPool& pool = watch_.pool();
  ComputeAsk ask{
      .project = pool.project, .method = "DELETE", .path = GroupPath(pool, watch_.names())};
  api_.Run(std::move(ask), until_, [self = shared_from_this()](const Result<void>& gone) {
    if (!gone && !Is(gone, Code::kNotFound)) return self->done_(gone);
    DeleteTemplates(self->api_, {self->watch_.pool().project, self->watch_.names(), ""},
                    self->until_, self->done_);
  });
}

}  // namespace tidemill
