// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/prepare.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/several.h"
#include "provider/aws/group_answers.h"

namespace tidemill {
namespace {

using DoneVoid = GroupCalls::Done<void>;

// One Prepare, step by step. Each step says all of what it is about, so one that died on the way is
// repeated from the beginning.
class Preparing : public std::enable_shared_from_this<Preparing> {
 public:
  Preparing(GroupCalls& calls, AwsSettings settings, DoneVoid done)
      : calls_(calls), settings_(std::move(settings)), done_(std::move(done)) {}

  void Begin() {
    calls_.Look(settings_.group, Duration::zero(),
                [self = shared_from_this()](const Result<AwsView>& view) {
                  if (!view) return self->done_(tl::unexpected<Error>(view.error()));
                  self->OnView(*view);
                });
  }

 private:
  void OnView(const AwsView& view);
  void OnImages(const Result<XmlElement>& answer);
  void NextTemplate(std::size_t i);
  void OnTemplate(std::size_t i, const Result<XmlElement>& answer);
  void WriteGroup();
  void Suspend();
  // Goes on if it went well.
  DoneVoid Then(const char* doing, std::function<void()> next) {
    return [self = shared_from_this(), doing, next = std::move(next)](const Result<void>& result) {
      self->calls_.Changed(self->settings_.group);
      if (!result) return self->done_(While(doing, result.error()));
      next();
    };
  }

  GroupCalls& calls_;
  const AwsSettings settings_;
  const DoneVoid done_;
  bool exists_ = false;
  std::vector<AwsTemplate> templates_;
  std::map<std::string, std::string> roots_;  // by image
};

void Preparing::OnView(const AwsView& view) {
  exists_ = view.exists;
  if (settings_.group.adopted) {
    if (exists_) return done_({});
    return done_(Fail(Code::kInvalid, "options.group: there is no Auto Scaling group " +
                                          settings_.group.name + " in " + settings_.group.region));
  }
  auto templates = AwsTemplatesOf(settings_);
  if (!templates) return done_(tl::unexpected<Error>(templates.error()));
  templates_ = *std::move(templates);
  calls_.Call(DescribeImages(settings_.group, templates_),
              [self = shared_from_this()](const auto& answer) { self->OnImages(answer); });
}

void Preparing::OnImages(const Result<XmlElement>& answer) {
  if (!answer) {
    Error error = answer.error();
    if (error.code == Code::kNotFound) error.code = Code::kInvalid;
    return done_(While("options.image", std::move(error)));
  }
  roots_ = ReadImages(*answer);
  for (const AwsTemplate& each : templates_) {
    if (roots_.contains(each.image)) continue;
    return done_(Fail(Code::kInvalid, "options.image: there is no " + each.image + " in " +
                                          settings_.group.region));
  }
  NextTemplate(0);
}

void Preparing::NextTemplate(std::size_t i) {
  if (i == templates_.size()) return WriteGroup();
  calls_.Call(DescribeTemplate(settings_.group, templates_[i].name),
              [self = shared_from_this(), i](const auto& answer) { self->OnTemplate(i, answer); });
}

void Preparing::OnTemplate(std::size_t i, const Result<XmlElement>& answer) {
  const AwsTemplate& each = templates_[i];
  const HttpFields data = TemplateData(settings_, each, roots_[each.image]);
  const auto next =
      Then("the launch template", [self = shared_from_this(), i] { self->NextTemplate(i + 1); });
  if (!answer) {
    if (answer.error().code != Code::kNotFound) return next(tl::unexpected<Error>(answer.error()));
    return calls_.Do(CreateTemplate(settings_, each.name, data), next);
  }
  const AwsTemplateVersion version = ReadTemplate(*answer);
  if (version.mark == TemplateMark(data)) return NextTemplate(i + 1);
  calls_.Do(CreateTemplateVersion(settings_.group, each.name, data, version.number), next);
}

void Preparing::WriteGroup() {
  const auto self = shared_from_this();
  if (!exists_) {
    return calls_.Do(CreateGroup(settings_, templates_),
                     Then("the Auto Scaling group", [self] { self->Suspend(); }));
  }
  calls_.Do(UpdateGroup(settings_, templates_), Then("the Auto Scaling group", [self] {
              self->calls_.Do(TagGroup(self->settings_),
                              self->Then("the group's tags", [self] { self->Suspend(); }));
            }));
}

void Preparing::Suspend() {
  calls_.Do(SuspendProcesses(settings_.group),
            Then("the group's processes", [self = shared_from_this()] { self->done_({}); }));
}

// --- taking it away ---

void DeleteTemplates(GroupCalls& calls, const AwsGroup& group, const DoneVoid& done) {
  constexpr std::size_t kAtOnce = 4;
  calls.Pages(DescribeTemplatesOf(group), [&calls, group, done](const auto& pages) {
    if (!pages) return done(tl::unexpected<Error>(pages.error()));
    const std::vector<std::string> ids = ReadTemplateIds(*pages);
    const auto one = [&calls, group, ids](std::size_t i, const DoneVoid& deleted) {
      calls.Do(DeleteTemplate(group, ids[i]), [deleted](Result<void> result) {
        const bool is_gone = !result && result.error().code == Code::kNotFound;
        deleted(is_gone ? Result<void>() : std::move(result));
      });
    };
    Several::Run(ids.size(), kAtOnce, one, done);
  });
}

// Of those that are not over, or that the group still has.
std::int64_t MachinesOf(const AwsView& view) {
  return std::count_if(view.instances.begin(), view.instances.end(), [](const AwsInstance& each) {
    return each.state != AwsInstance::State::kEnded || each.place != AwsInstance::Place::kOutside;
  });
}

void DeleteGroupAndTemplates(GroupCalls& calls, const AwsGroup& group, const DoneVoid& done) {
  calls.Do(DeleteGroup(group), [&calls, group, done](const Result<void>& deleted) {
    calls.Changed(group);
    // It may be gone already.
    const bool is_gone = !deleted && IsAwsError(deleted.error(), "ValidationError") &&
                         deleted.error().reason.find("not found") != std::string::npos;
    if (!deleted && !is_gone) return done(While("the Auto Scaling group", deleted.error()));
    DeleteTemplates(calls, group, done);
  });
}

}  // namespace

void PrepareGroup(GroupCalls& calls, AwsSettings settings, DoneVoid done) {
  std::make_shared<Preparing>(calls, std::move(settings), std::move(done))->Begin();
}

void RemoveGroup(GroupCalls& calls, const AwsGroup& group, DoneVoid done) {
  if (group.adopted) {
    return calls.After(Duration::zero(), [done = std::move(done)] { done({}); });
  }
  calls.Look(group, Duration::zero(), [&calls, group, done](const Result<AwsView>& view) {
    // Another pool's is not touched.
    if (!view && view.error().code == Code::kConflict) return done({});
    if (!view) return done(tl::unexpected<Error>(view.error()));
    const std::int64_t machines = MachinesOf(*view);
    if (machines > 0) {
      return done(Fail(Code::kConflict, std::to_string(machines) + " of its machines are there"));
    }
    if (!view->exists) return DeleteTemplates(calls, group, done);
    if (view->target == 0) return DeleteGroupAndTemplates(calls, group, done);
    // What it still tries to make must not come.
    calls.Do(SetTarget(group, 0), [&calls, group, done](const Result<void>& set) {
      calls.Changed(group);
      if (!set) return done(tl::unexpected<Error>(set.error()));
      DeleteGroupAndTemplates(calls, group, done);
    });
  });
}

}  // namespace tidemill
