# SPDX-License-Identifier: Apache-2.0
"""Files that a job brings with it: an archive that is kept by the server under its hash."""

import hashlib
import io
import struct
import tarfile
from collections.abc import Mapping

from tidemill.client import PATIENT_S, Client
from tidemill.errors import Invalid, NotFound

ARCHIVE_BYTES_MAX = 8 << 20
_BLOCK_BYTES = 128 << 10  # the most that a block of zstd may have


def send_code(client: Client, files: Mapping[str, bytes]) -> str:
    """What the spec's `code` says so that items begin in a folder with these files."""
    archive = _zstd_frame(_tar(files))
    if len(archive) > ARCHIVE_BYTES_MAX:
        largest = sorted(files, key=lambda name: len(files[name]), reverse=True)[:5]
        told = "".join(f"\n  {len(files[name]):,} bytes  {name}" for name in largest)
        raise Invalid(
            f"the code has {len(archive):,} bytes; at most {ARCHIVE_BYTES_MAX:,} are sent. Its"
            f" largest:{told}\nPut data into an object store, or into the image"
        )
    sha256 = hashlib.sha256(archive).hexdigest()
    path = f"/v1/blobs/{sha256}"
    try:
        client.get(path)
    except NotFound:
        client.call("PUT", path, archive, PATIENT_S, "application/octet-stream")
    return f"blob:{sha256}"


def _tar(files: Mapping[str, bytes]) -> bytes:
    """The same bytes for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        folders: list[str] = []
        for name in sorted(files):
            _add_folders(tar, name, folders)
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            tar.addfile(entry, io.BytesIO(files[name]))
    return packed.getvalue()


def _add_folders(tar: tarfile.TarFile, name: str, made: list[str]) -> None:
    parts = name.split("/")[:-1]
    for depth in range(len(parts)):
        folder = "/".join(parts[: depth + 1])
        if folder not in made:
            made.append(folder)
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)


def _zstd_frame(content: bytes) -> bytes:
    """A frame of blocks that are not packed at all (RFC 8878): Python before 3.14 has no zstd, and
    code is small."""
    frame = [struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content))]
    for at in range(0, len(content), _BLOCK_BYTES):
        block = content[at : at + _BLOCK_BYTES]
        is_last = at + _BLOCK_BYTES >= len(content)
        frame += [struct.pack("<I", is_last | len(block) << 3)[:3], block]
    return b"".join(frame)
