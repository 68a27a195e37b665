"""The Python client installed by pip from its folder, offline."""

import ast
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


class Wheel(unittest.TestCase):
    def test_installs_from_the_folder_and_is_of_the_programs_version(self):
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            shutil.copytree(ROOT / "clients/python", here / "source")  # setuptools writes beside it
            pip("wheel", "--no-index", "--no-build-isolation", "--no-deps",
                "--wheel-dir", str(here), str(here / "source"))
            [wheel] = here.glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                modules = [name for name in archive.namelist() if ".dist-info/" not in name]
                [name] = [name for name in archive.namelist() if name.endswith("METADATA")]
                metadata = archive.read(name).decode()
            self.assertEqual(modules, ["sweetspot.py"])  # no tests
            self.assertNotIn("Requires-Dist", metadata)
            pip("install", "--no-index", "--target", str(here / "site"), str(wheel))
            code = "import sweetspot; print(sweetspot.__version__, sweetspot.__file__)"
            out = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(here / "site")},
                                 cwd="/", capture_output=True, text=True, check=True).stdout
            version = subprocess.run([sys.argv[-1], "--version"], capture_output=True, text=True,
                                     check=True).stdout.split()[1]
            self.assertEqual(out.split(), [version, str(here / "site/sweetspot.py")])

    def test_imports_the_standard_library_only(self):
        tree = ast.parse((ROOT / "clients/python/sweetspot.py").read_text())
        names = {alias.name.split(".")[0] for node in tree.body if isinstance(node, ast.Import)
                 for alias in node.names}
        names |= {node.module.split(".")[0] for node in tree.body if isinstance(node, ast.ImportFrom)}
        self.assertLessEqual(names, set(sys.stdlib_module_names))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
