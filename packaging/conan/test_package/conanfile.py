# What `conan create` does last: it builds the tests' program outside of the tree (tests/package/consumer) with the package that it made, and
# runs it on the emulator.
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class FlydslTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps", "VirtualRunEnv"
    programs = ("app", "kernels_app")  # hip_app wants HIP's headers, which are not the package's

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join("..", "..", "..", "tests", "package", "consumer"))
        for program in self.programs:
            cmake.build(target=program)

    def test(self):
        if can_run(self):
            for program in self.programs:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
