"""Write the type stubs of `uzushio._core`: write_stubs.py CORE SOURCES STUBS.

CORE is the folder that the module was built in, SOURCES that of the Python package. The module is
imported under the name that it has once it is installed.
"""

import shutil
import sys

from nanobind import stubgen

core, sources, stubs = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, sources)
import uzushio  # noqa: E402 - from SOURCES

uzushio.__path__.append(core)
shutil.rmtree(stubs, ignore_errors=True)
stubgen.main(["-q", "-r", "-m", "uzushio._core", "-O", stubs])
