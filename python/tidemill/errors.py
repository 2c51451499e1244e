# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, by what the caller may do next."""


class Error(Exception):
    """All that this package raises of its own. The text says what to do next."""


class Invalid(Error):
    """What was asked for cannot be: change what the text names."""


class NotAllowed(Error):
    """No token, one that is not good, or one whose role does not suffice."""


class NotFound(Error):
    """There is no such thing; also if it is another project's."""


class Conflict(Error):
    """The job is in no state for that."""


class Unavailable(Error):
    """The server cannot be reached, or does not take it now. The same call may be made again."""


class Paused(Error):
    """The servers have paused the job that was waited for; the text has their reason."""
