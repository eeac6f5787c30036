# Conan's recipe: conan create packaging/conan --build=missing
#
# LLVM, MLIR and LLD 22, comgr's and HIP's headers and ROCm's device library are the system's: Conan Center has none of them with
# MLIR. docs/installing.md names the packages of distributions.
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps
from conan.tools.scm import Version


class FlydslConan(ConanFile):
    name = "flydsl"
    license = "Apache-2.0"
    description = "GPU kernels in C++ over a layout algebra, compiled in process"
    topics = ("gpu", "mlir", "hip", "kernels")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"llvm": ["shared", "static"], "system_libraries": [True, False]}
    default_options = {"llvm": "static", "system_libraries": False}

    def set_version(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        self.version = re.search(r"project\(flydsl VERSION ([0-9.]+)", load(self, os.path.join(top, "CMakeLists.txt")))[1]

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for folder in ("cmake", "include", "kernels", "packaging", "src", "tools"):
            copy(self, folder + "/*", src=top, dst=self.export_sources_folder)
        for file in ("CMakeLists.txt", "CHANGELOG.md", "LICENSE"):
            copy(self, file, src=top, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration(
                f"flydsl is built for Linux on x86_64, not for {self.settings.os} on {self.settings.arch}: its emulator runs on that alone")
        oldest = {"gcc": "12", "clang": "16"}.get(str(self.settings.compiler))
        if oldest is None or Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(
                f"flydsl is C++20 for gcc 12 or clang 16 and later, not for {self.settings.compiler} {self.settings.compiler.version}")

    def requirements(self):
        if not self.options.system_libraries:
            self.requires("spdlog/1.14.1")
            self.requires("cli11/2.4.2")
            self.requires("nlohmann_json/3.11.3")
            self.requires("xxhash/0.8.2")
            self.requires("zstd/1.5.6")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["FLYDSL_LLVM"] = str(self.options.llvm)
        for part in ("TESTS", "SAMPLES", "BENCH"):
            toolchain.cache_variables["FLYDSL_BUILD_" + part] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()  # xxHash and zstd are found by pkg-config

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # Users find the package that CMake installed, with its targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "flydsl"))
