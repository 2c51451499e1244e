// SPDX-License-Identifier: Apache-2.0
#include "server/http/needs.h"

namespace tidemill {

bool Suffices(const Caller& caller, Needs needs) {
  const bool all_projects = caller.project.empty();
  switch (needs) {
    case Needs::kNothing:
      return true;
    case Needs::kViewer:
      return caller.role >= Role::kViewer;
    case Needs::kSubmitter:
      return caller.role >= Role::kSubmitter;
    case Needs::kOperator:
      return caller.role >= Role::kOperator;
    case Needs::kAdmin:
      return caller.role >= Role::kAdmin;
    case Needs::kServer:
      return all_projects;
    case Needs::kServerAdmin:
      return all_projects && caller.role >= Role::kAdmin;
    case Needs::kJoinToken:
    case Needs::kSessionToken:
      return false;
  }
  return false;
}

std::string_view NeedsName(Needs needs) {
  switch (needs) {
    case Needs::kNothing:
      return "none";
    case Needs::kViewer:
      return "viewer";
    case Needs::kSubmitter:
      return "submitter";
    case Needs::kOperator:
      return "operator";
    case Needs::kAdmin:
      return "admin";
    case Needs::kServer:
      return "viewer for all projects";
    case Needs::kServerAdmin:
      return "admin for all projects";
    case Needs::kJoinToken:
    case Needs::kSessionToken:
      return "agent";
  }
  return "none";
}

}  // namespace tidemill
