# SPDX-License-Identifier: Apache-2.0
"""Fixtures: deploy/terraform/aws as a whole, played once for all tests of a process."""

import pytest
from aws_names import GIVEN, ROLE
from played import Played


@pytest.fixture(scope="session")
def played(tmp_path_factory):
    return Played(tmp_path_factory.mktemp("aws"), "aws")


@pytest.fixture(scope="session")
def whole(played):
    return played.apply(**GIVEN, allow_from=["198.51.100.0/24"], job_roles=[ROLE + "films"])
