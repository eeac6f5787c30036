"""scripts/shapes over traces of the library's kernels: the shapes that comments say are those that are traced,
and a comment that says another one is found.

    shapes.py FLY_KERNELS TREE FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

PROBLEMS = [
    'gemm n=256 k=256 --m 64',
    'gemm n=256 k=256 a_layout=columns b_layout=rows --m 256',
    'gemm a=bf16 b=u4 c=bf16 n=256 k=256 b_groups.size=64 b_groups.scale=bf16 b_groups.zeros=true --m 64',
    'grouped_gemm experts=4 n=64 k=64 topk=2 a_rows=tokens --m 64',
    'attention q_heads=2 kv_heads=1 head=64 --m 128',
    'decode q_heads=8 kv_heads=2 head=128 --m 8',
    'delta_rule prefill=true --m 64',
    'conv channels=16 filters=32 height.kernel=3 --m 64',
    'ggml_gemm n=256 k=1024 --m 64',
    'ggml_gemm n=256 k=1024 q8_1=true --m 4',
    'moe_forward x=f8E4M3FNUZ scales=per_row hidden=256 inner=256 router.experts=8 router.topk=2 --m 64',
    'norm n=256 residual=true --m 64',
    'quantise n=512 scale=tensor --m 64',
    'rope q_heads=8 kv_heads=2 head=128 --m 64',
]
OTHERS = {  # loops and operands that gfx942 does not have
    'gfx950': [
        'gemm n=4096 k=4096 --m 4096',
        'gemm n=1024 k=1024 a_layout=columns b_layout=columns --m 512',
        'gemm a=f4E2M1FN b=f4E2M1FN c=bf16 n=1024 k=1024 scale_a=mx scale_b=mx scale=f8E8M0FNU --m 256',
    ],
    'gfx1250': ['gemm n=1024 k=1024 b_layout=rows --m 256', 'gemm n=1024 k=1024 --m 64'],
}
FEWEST = 100  # lines that these traces have to reach

tool, tree, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
environment = dict(os.environ, FLYDSL_DUMP_IR='1', FLYDSL_DUMP_DIR=str(folder / 'dumps'),
                   FLYDSL_RUNTIME_KIND='emulator', FLYDSL_RUNTIME_ENABLE_CACHE='0')
for arch, problems in {'gfx942': PROBLEMS, **OTHERS}.items():
    for problem in problems:
        subprocess.run([tool, 'show', *problem.split(), '--arch', arch], env=environment, check=True,
                       stdout=subprocess.DEVNULL)


def shapes(of):
    ran = subprocess.run([tree / 'scripts' / 'shapes', '--tree', of, folder / 'dumps'], capture_output=True, text=True)
    print(ran.stdout, ran.stderr)
    return ran.returncode, ran.stdout


code, said = shapes(tree)
compared = int(re.search(r'shapes: (\d+) lines compared', said)[1])
if code or compared < FEWEST:
    sys.exit(f'{compared} lines compared, at least {FEWEST} are expected, and none is wrong')

shutil.copytree(tree / 'kernels', folder / 'wrong' / 'kernels')
sums = folder / 'wrong' / 'kernels' / 'blocks' / 'products' / 'product_sums.h'
text = sums.read_text()
planted = text.replace('// (V, n, m)\n', '// (V, n)\n')
if planted == text:
    sys.exit('product_sums.h has no line to plant a mistake in')
sums.write_text(planted)
code, said = shapes(folder / 'wrong')
if code != 1 or 'product_sums.h' not in said:
    sys.exit('a wrong comment is not found')
