# SPDX-License-Identifier: Apache-2.0
"""deploy/image/setup.sh: what makes an agent machine, in a folder and on a stock machine."""

import base64
import gzip
import hashlib
import http.server
import os
import pathlib
import ssl
import subprocess
import threading

import pytest
import yaml
from played import ROOT, Played
from stock import Stock, put_bucket

SETUP = ROOT / "deploy" / "image" / "setup.sh"
UNIT = ROOT / "deploy" / "systemd" / "tidemill-agent.service"
FLAGS = "--cloud aws --server https://10.0.0.1:8443 --pool cpu"
PLACES = {
    "usr/local/bin/tidemill-agent": 0o755,
    "usr/local/bin/tidemill-init": 0o755,
    "etc/systemd/system/tidemill-agent.service": 0o644,
    "etc/tidemill/agent.env": 0o600,
    "etc/tidemill/ca.pem": 0o644,
}


@pytest.fixture
def release(tmp_path):
    """A folder of programs; .sums is the hash of its SHA256SUMS."""
    folder = tmp_path / "release"
    folder.mkdir()
    for name in ("tidemill-agent", "tidemill-init"):
        (folder / name).write_text(f"#!/bin/sh\necho {name}\n")
    (folder / UNIT.name).write_bytes(UNIT.read_bytes())
    (folder / "ca.pem").write_text("a certificate\n")
    write_sums(folder)
    return folder


def write_sums(folder):
    names = ("tidemill-agent", "tidemill-init", UNIT.name)
    lines = [f"{sha256(folder / name)}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def setup(root, *words, **environment):
    return subprocess.run(
        [SETUP, *map(str, words)],
        env={**os.environ, "ROOT": str(root), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def words_of(release, url=None):
    url = url or f"file://{release}"
    sums = sha256(release / "SHA256SUMS")
    return ["--from", url, "--sums", sums, "--ca", f"{url}/ca.pem", "--flags", FLAGS]


def tree(root):
    """What is there, and when it was put there."""
    files = [path for path in sorted(root.rglob("*")) if not path.is_dir()]
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mtime_ns, path.lstat().st_ino)
        for path in files
    }


def test_everything_is_in_its_place(tmp_path, release):
    done = setup(tmp_path / "root", *words_of(release))
    assert done.returncode == 0, done.stdout
    for place, mode in PLACES.items():
        assert (tmp_path / "root" / place).stat().st_mode & 0o777 == mode, place
    env = (tmp_path / "root/etc/tidemill/agent.env").read_text()
    assert env == f"TIDEMILL_AGENT_FLAGS={FLAGS}\n"
    wants = tmp_path / "root/etc/systemd/system/multi-user.target.wants/tidemill-agent.service"
    assert os.readlink(wants) == "/etc/systemd/system/tidemill-agent.service"
    assert sorted(tree(tmp_path / "root")) == sorted(
        [*PLACES, wants.relative_to(tmp_path / "root").as_posix()]
    )


def test_a_second_run_changes_nothing(tmp_path, release):
    root = tmp_path / "root"
    assert setup(root, *words_of(release)).returncode == 0
    before = {name: seen for name, seen in tree(root).items() if "wants" not in name}
    again = setup(root, *words_of(release))
    assert again.returncode == 0 and again.stdout == "setup: done\n"
    assert {name: seen for name, seen in tree(root).items() if "wants" not in name} == before


def test_an_image_that_has_the_programs_fetches_only_what_it_needs(tmp_path, release):
    root = tmp_path / "root"
    assert setup(root, *words_of(release)).returncode == 0
    (release / "tidemill-agent").unlink()
    assert setup(root, *words_of(release)).returncode == 0


def test_a_newer_program_takes_the_place_of_the_old_one(tmp_path, release):
    root = tmp_path / "root"
    assert setup(root, *words_of(release)).returncode == 0
    (release / "tidemill-agent").write_text("newer\n")
    write_sums(release)
    done = setup(root, *words_of(release))
    assert done.returncode == 0 and "usr/local/bin/tidemill-agent" in done.stdout
    assert (root / "usr/local/bin/tidemill-agent").read_text() == "newer\n"


def test_without_flags_it_is_an_image_and_nothing_is_said_of_a_server(tmp_path, release):
    root = tmp_path / "root"
    words = ["--from", f"file://{release}", "--sums", sha256(release / "SHA256SUMS")]
    assert setup(root, *words).returncode == 0
    assert not (root / "etc/tidemill").exists()
    assert "ConditionPathExists=/etc/tidemill/agent.env" in UNIT.read_text()


@pytest.mark.parametrize(
    "fault, complaint",
    [
        ("sums", "is not the one whose hash was given"),
        ("program", "is not what SHA256SUMS says"),
        ("missing", "cannot fetch"),
        ("unnamed", "does not name tidemill-init"),
    ],
)
def test_a_wrong_hash_stops_it_before_anything_is_installed(tmp_path, release, fault, complaint):
    words = words_of(release)
    if fault == "sums":
        words[3] = "0" * 64
    elif fault == "program":
        (release / "tidemill-agent").write_text("something else\n")
    elif fault == "missing":
        (release / "tidemill-init").unlink()
    else:
        sums = release / "SHA256SUMS"
        lines = sums.read_text().splitlines(keepends=True)
        sums.write_text("".join(line for line in lines if "init" not in line))
        words[3] = sha256(sums)
    done = setup(tmp_path / "root", *words)
    assert done.returncode == 1 and complaint in done.stdout
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    "words", [[], ["--from", "file:///x"], ["--from", "file:///x", "--sums", "12"], ["--what"]]
)
def test_wrong_use_is_said(tmp_path, words):
    done = setup(tmp_path / "root", *words)
    assert done.returncode == 2 and done.stdout.startswith("usage: setup.sh")


def test_clear_text_is_refused(tmp_path, release):
    done = setup(tmp_path / "root", *words_of(release, "http://127.0.0.1:1"))
    assert done.returncode == 1 and "not a file://, https://" in done.stdout


@pytest.fixture
def https(tmp_path, release):
    """The release behind a server with a certificate of its own: (URL, certificate)."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    make += ["-nodes", "-keyout", str(key), "-out", str(cert), "-days", "1", "-subj", "/CN=test"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(make, check=True, stderr=subprocess.DEVNULL)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(release))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}", cert
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_fetches_over_https_from_whom_it_believes(tmp_path, release, https):
    url, cert = https
    done = setup(tmp_path / "root", *words_of(release, url), CURL_CA_BUNDLE=str(cert))
    assert done.returncode == 0, done.stdout
    for place in PLACES:
        assert (tmp_path / "root" / place).exists(), place


def test_the_units_are_valid(tmp_path):
    for unit in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        text = unit.read_text()
        for name in ("tidemill-agent", "tidemill-server"):
            text = text.replace(f"/usr/local/bin/{name}", "/bin/true")
        copy = tmp_path / unit.name
        copy.write_text(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", copy],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        ours = [line for line in done.stdout.splitlines() if unit.name in line]
        assert done.returncode == 0 and ours == [], done.stdout


def test_shellcheck_has_no_complaints():
    scripts = [*ROOT.glob("deploy/image/*.sh"), *ROOT.glob("tests/deploy/fakes/*")]
    done = subprocess.run(["shellcheck", *scripts], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout


def cloud_init(machine, user_data):
    """Does what cloud-init does with the two modules that we use."""
    assert user_data.startswith("#cloud-config\n")
    config = yaml.safe_load(user_data)
    assert sorted(config) == ["runcmd", "write_files"]
    for file in config["write_files"]:
        assert sorted(file) == ["content", "encoding", "path", "permissions"]
        assert file["encoding"] == "gz+b64"
        text = gzip.decompress(base64.b64decode(file["content"])).decode()
        machine.write(file["path"], text, int(file["permissions"], 8))
    (command,) = config["runcmd"]
    return machine.run(*command)


def test_a_stock_machine_becomes_an_agent_by_the_user_data_that_terraform_writes(tmp_path):
    played = Played(tmp_path / "terraform", "aws")
    state = played.apply(region="eu-west-1", account="123456789012")
    store = tmp_path / "store"
    bucket = store / "tidemill-main-123456789012-eu-west-1"
    put_bucket(bucket, state, "aws_s3_object", played.programs)
    (bucket / "server").mkdir(exist_ok=True)
    (bucket / "server/ca.pem").write_text("a certificate\n")
    pool = yaml.safe_load(state.outputs["tidemill_yaml"])["pools"]["cpu"]
    missing = ["/usr/bin/docker", "/usr/local/bin/docker", "/usr/sbin/nft", "/etc/tidemill"]
    machine = Stock(tmp_path / "machine", store, without=missing)
    try:
        done = cloud_init(machine, pool["options"]["user_data"])
        assert done.returncode == 0, done.stdout
        env = machine.read("/etc/tidemill/agent.env")
        assert env == (
            "TIDEMILL_AGENT_FLAGS=--cloud aws --server https://10.77.0.10:8443 --pool cpu "
            "--project default --ca /etc/tidemill/ca.pem --state /var/lib/tidemill-agent\n"
        )
        assert "tidemill-agent of a test" in machine.read("/usr/local/bin/tidemill-agent")
        assert machine.read("/var/log/fake-apt").splitlines() == [
            "update",
            "install docker.io",
            "install nftables",
        ]
        assert machine.read("/var/log/fake-systemctl").splitlines() == [
            "enable --now docker",
            "daemon-reload",
            "enable --quiet tidemill-agent",
            "restart tidemill-agent",
        ]
        # A boot later: everything is there, so nothing is restarted that runs.
        machine.run("rm", "/var/log/fake-apt", "/var/log/fake-systemctl")
        assert cloud_init(machine, pool["options"]["user_data"]).stdout == "setup: done\n"
        assert machine.run("test", "-e", "/var/log/fake-apt").returncode == 1
        assert machine.read("/var/log/fake-systemctl").splitlines()[-1] == "start tidemill-agent"
    finally:
        machine.end()
    assert not pathlib.Path("/store").exists(), "the machine was a layer of its own"


def test_the_same_on_google(tmp_path):
    played = Played(tmp_path / "terraform", "gcp")
    state = played.apply(project="films-1", zone="europe-west4-a")
    bucket = tmp_path / "store/tidemill-main-films-1"
    put_bucket(bucket, state, "google_storage_bucket_object", played.programs)
    (bucket / "server/ca.pem").write_text("a certificate\n")
    pool = yaml.safe_load(state.outputs["tidemill_yaml"])["pools"]["gpu"]
    machine = Stock(tmp_path / "machine", tmp_path / "store", without=["/etc/tidemill"])
    try:
        done = cloud_init(machine, pool["options"]["user_data"])
        assert done.returncode == 0, done.stdout
        assert "--cloud gcp --server https://" in machine.read("/etc/tidemill/agent.env")
        assert "tidemill-init of a test" in machine.read("/usr/local/bin/tidemill-init")
        assert machine.read("/etc/tidemill/ca.pem") == "a certificate\n"
    finally:
        machine.end()


@pytest.fixture
def gpu_machine(tmp_path):
    """A machine with two devices; Docker shows as many to a container as /root/shown says."""
    (tmp_path / "store").mkdir()
    machine = Stock(tmp_path / "machine", tmp_path / "store")
    machine.run("mknod", "/dev/nvidia0", "c", "195", "0").check_returncode()
    machine.run("mknod", "/dev/nvidia1", "c", "195", "1").check_returncode()
    docker = '#!/bin/sh\n[ "$1" != run ] || head -n "$(cat /root/shown)" /root/gpus\n'
    machine.write("/usr/local/sbin/docker", docker, 0o755)
    machine.write("/usr/local/sbin/nvidia-smi", "#!/bin/sh\n", 0o755)
    machine.write("/usr/local/sbin/nvidia-ctk", "#!/bin/sh\n", 0o755)
    machine.write("/root/gpus", "GPU 0: NVIDIA L4\nGPU 1: NVIDIA L4\n", 0o600)
    machine.write("/root/see", (ROOT / "deploy/image/see_gpu.sh").read_text(), 0o700)
    yield machine
    machine.end()


@pytest.mark.parametrize("shown, ok", [("2", True), ("1", False), ("0", False)])
def test_an_image_is_made_only_if_a_container_sees_every_gpu(gpu_machine, shown, ok):
    gpu_machine.write("/root/shown", shown, 0o600)
    done = gpu_machine.run("/root/see")
    assert (done.returncode == 0) == ok, done.stdout
    assert ("containers see 2 of 2" in done.stdout) == ok


def test_an_agent_is_given_every_gpu(gpu_machine, release, tmp_path):
    for name in release.iterdir():
        (tmp_path / "store" / name.name).write_bytes(name.read_bytes())
    gpu_machine.write("/root/setup", SETUP.read_text(), 0o700)
    done = gpu_machine.run("/root/setup", *words_of(release, "file:///store"))
    assert done.returncode == 0, done.stdout
    flags = gpu_machine.read("/etc/tidemill/agent.env").strip()
    gpus = "--device nvidia.com/gpu=/dev/nvidia0 --device nvidia.com/gpu=/dev/nvidia1"
    assert flags == f"TIDEMILL_AGENT_FLAGS={FLAGS} {gpus}"
