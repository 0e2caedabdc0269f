# SPDX-License-Identifier: MIT
"""Compiles torch_ring._C against the installed PyTorch and ringccl.

ringccl is the installed one (pkg-config ringccl), or that of a build in a source checkout: the folder
RINGCCL_BUILD names, else build/ beside bindings/.
"""

import os
import re
import subprocess
import sys

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def installed():
    """Folders of the header and the library that pkg-config knows, or None."""
    try:
        answers = [
            subprocess.run(["pkg-config", f"--variable={name}", "ringccl"], capture_output=True, text=True, check=True)
            for name in ("includedir", "libdir")
        ]
    except (OSError, subprocess.CalledProcessError):
        return None
    return [answer.stdout.strip() for answer in answers]


def built():
    """The same of a build in the checkout, or None."""
    build = os.path.abspath(os.environ.get("RINGCCL_BUILD", os.path.join(TOP, "build")))
    library = os.path.join(build, ".libs")
    if not os.path.exists(os.path.join(library, "libringccl.so")):
        return None
    with open(os.path.join(build, "Makefile"), encoding="utf-8") as makefile:
        source = re.search(r"^abs_top_srcdir = (.*)$", makefile.read(), re.MULTILINE).group(1)
    return [os.path.join(source, "include"), library]


def places():
    found = (built() or installed()) if "RINGCCL_BUILD" in os.environ else (installed() or built())
    if found is None:
        sys.exit(
            "torch_ring needs ringccl: install it, or build it in the checkout (./quickstart), "
            "or say in RINGCCL_BUILD where it was built"
        )
    return found


include, library = places()
setup(
    ext_modules=[
        CppExtension(
            "torch_ring._C",
            ["csrc/torch_ring.cpp"],
            include_dirs=[include],
            library_dirs=[library],
            libraries=["ringccl"],
            runtime_library_dirs=[library],
            extra_compile_args=["-O1", "-g0", "-Wall", "-fvisibility=hidden"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
