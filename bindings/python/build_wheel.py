# SPDX-License-Identifier: MIT
"""Makes a wheel of the package, which is Python alone: a zip file with a few lines beside it."""
import base64
import hashlib
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "include" / "ringccl.h"


def version():
    text = HEADER.read_text()
    return ".".join(re.search(rf"RING_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def metadata():
    return (f"Metadata-Version: 2.1\nName: ringccl\nVersion: {version()}\n"
            "Summary: Collective communication over shared memory, TCP and RDMA verbs\n"
            "License: MIT\nRequires-Python: >=3.8\n")


def contents():
    """Paths in the wheel, and bytes."""
    info = f"ringccl-{version()}.dist-info"
    for path in sorted((HERE / "ringccl").glob("*.py")):
        yield f"ringccl/{path.name}", path.read_bytes()
    yield f"{info}/METADATA", metadata().encode()
    yield f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: ringccl\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"ringccl-{version()}-py3-none-any.whl"
    record = f"ringccl-{version()}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in contents():
            wheel.writestr(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(data)}\n")
        wheel.writestr(record, "".join(lines) + f"{record},,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("ringccl: a source distribution of the whole project is made by make dist")
