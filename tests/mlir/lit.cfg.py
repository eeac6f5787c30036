import os

import lit.formats

config.name = "flydsl"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join([config.llvm_tools, config.environment["PATH"]])
config.substitutions += [("fly-opt", config.fly_opt), ("fly-lsp-server", config.fly_lsp_server)]
